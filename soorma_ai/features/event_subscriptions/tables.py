"""Table of subscriptions.

`due`: end of a claim or of a pause. `fence`: number of the last claim or renewal. `body`: JSON.
"""

SUBSCRIPTION_TABLES = """
CREATE TABLE event_subscription (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    gateway TEXT NOT NULL,
    due REAL NOT NULL,
    fence INTEGER NOT NULL,
    until REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, subscription_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_subscription_due ON event_subscription (gateway, due);
CREATE INDEX event_subscription_until ON event_subscription (tenant, until)
"""

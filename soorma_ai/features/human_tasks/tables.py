"""Tables of claims, absences, notices and links, beside answers.

`claim`, `snooze`: a row is of an open question. `colleague.roles`, `absence.body`, `link.body`: JSON. `link`: one of a
person about one thing; `about` is the id of a question or a plan, or empty.
"""

PEOPLE_TABLES = """
CREATE TABLE claim (
    expectation_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    given_by TEXT NOT NULL,
    at REAL NOT NULL,
    until REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_user ON claim (tenant, user_id);

CREATE TABLE snooze (
    expectation_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    at REAL NOT NULL,
    until REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX snooze_user ON snooze (tenant, user_id);

CREATE TABLE notice (
    expectation_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    via TEXT NOT NULL,
    tenant TEXT NOT NULL,
    state TEXT NOT NULL,
    at REAL NOT NULL,
    event_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (expectation_id, user_id, via)
) STRICT, WITHOUT ROWID;
CREATE INDEX notice_age ON notice (tenant, at);
CREATE INDEX notice_user ON notice (tenant, user_id);

CREATE TABLE colleague (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    roles TEXT NOT NULL,
    seen_at REAL NOT NULL,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX colleague_seen ON colleague (tenant, seen_at);

CREATE TABLE absence (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    deputy TEXT NOT NULL,
    since REAL NOT NULL,
    until REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX absence_deputy ON absence (tenant, deputy, until);
CREATE INDEX absence_until ON absence (tenant, until);

CREATE TABLE link (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    user_id TEXT NOT NULL,
    made_at REAL NOT NULL,
    until REAL NOT NULL,
    revoked_at REAL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, about, kind, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_user ON link (tenant, user_id);
CREATE INDEX link_until ON link (tenant, until)
"""
# Answers to questions of one kind, in the order in which they were given.
ANSWERED = """
CREATE INDEX expectation_answered
    ON expectation (
        tenant, kind, iif(json_valid(rest), json_extract(rest, '$.subject'), ''), closed_at, id
    )
    WHERE answer IS NOT NULL
"""

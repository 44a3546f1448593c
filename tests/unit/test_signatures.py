"""Signatures of webhooks, checked with the senders' published vectors and the official library."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook as Official

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.gateways.webhooks import GitHub, Post, Slack, StandardWebhooks, Stripe, Verifier

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "whsec_" + base64.b64encode(b"a key of more than 16 bytes").decode()
OTHER = "whsec_" + base64.b64encode(b"another key of 24 bytes").decode()
BODY = b'{"id":"evt_1","n":1}'
SLACK = Slack("8f742231b10e8888abcd99yyyzzz85a5")
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)


def test_githubs_published_vector_is_accepted() -> None:
    signed = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    post = Post({"x-hub-signature-256": signed, "x-github-delivery": "d-1"}, b"Hello, World!")
    known = GitHub("It's a Secret to Everybody").verify(post, NOW)
    assert known == hashlib.sha256(post.body).hexdigest()
    again = Post({"x-hub-signature-256": signed, "x-github-delivery": "d-2"}, post.body)
    assert GitHub("It's a Secret to Everybody").verify(again, NOW) == known


def test_slacks_published_vector_is_accepted() -> None:
    signed = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    post = Post({"x-slack-signature": signed, "x-slack-request-timestamp": "1531420618"}, SLACK_BODY)
    assert len(SLACK.verify(post, datetime.fromtimestamp(1531420700, UTC))) == 64
    with pytest.raises(Unauthenticated, match="s away from now"):
        SLACK.verify(post, NOW)


def test_signatures_are_exchanged_with_the_official_library() -> None:
    ours, official, now = StandardWebhooks(SECRET), Official(SECRET), SystemClock().now()
    headers = ours.sign("m-1", BODY, now)
    assert official.verify(BODY, headers) == json.loads(BODY)
    signed = official.sign("m-2", now, BODY.decode())
    theirs = {"webhook-id": "m-2", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signed}
    assert ours.verify(Post(theirs, BODY), now) == "m-2"


def test_during_a_rotation_of_secrets_both_are_accepted() -> None:
    both = StandardWebhooks((SECRET, OTHER))
    headers = both.sign("m-1", BODY, NOW)
    for one in (SECRET, OTHER):
        assert StandardWebhooks(one).verify(Post(headers, BODY), NOW) == "m-1"
        assert both.verify(Post(StandardWebhooks(one).sign("m-2", BODY, NOW), BODY), NOW) == "m-2"


def stripe(secret: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of a Stripe post: like Slack's scheme, with another prefix before the body."""
    seconds = int(at.timestamp())
    mac = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return {"stripe-signature": f"t={seconds},v1={'0' * 64},v1={mac},v0=x"}


STRIPE = Stripe("whsec_stripes_own_text")


def test_stripe_gives_the_signed_id() -> None:
    assert STRIPE.verify(Post(stripe("whsec_stripes_own_text", NOW, BODY), BODY), NOW) == "evt_1"


SIGNED = [
    (StandardWebhooks(SECRET), StandardWebhooks(SECRET).sign("m", BODY, NOW)),
    (STRIPE, stripe("whsec_stripes_own_text", NOW, BODY)),
]


@pytest.mark.parametrize(("verifier", "headers"), SIGNED)
@pytest.mark.parametrize("late", [timedelta(minutes=6), -timedelta(minutes=6)])
def test_a_signature_too_old_or_in_the_future_is_refused(
    verifier: Verifier, headers: dict[str, str], late: timedelta
) -> None:
    with pytest.raises(Unauthenticated, match="s away from now"):
        verifier.verify(Post(headers, BODY), NOW + late)


@pytest.mark.parametrize(("verifier", "headers"), SIGNED)
def test_a_changed_body_header_or_secret_is_refused(verifier: Verifier, headers: dict[str, str]) -> None:
    assert verifier.verify(Post(headers, BODY), NOW)
    with pytest.raises(Unauthenticated, match="does not fit"):
        verifier.verify(Post(headers, BODY + b" "), NOW)
    for name in headers:
        for broken in ("", "x", "é" * 9, headers[name][: len(headers[name]) // 2]):
            with pytest.raises(Unauthenticated):
                verifier.verify(Post({**headers, name: broken}, BODY), NOW)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StandardWebhooks("whsec_" + base64.b64encode(b"short").decode()),
        lambda: StandardWebhooks("whsec_no base64"),
        lambda: StandardWebhooks(base64.b64encode(b"a key of more than 16 bytes").decode()),
        lambda: GitHub("short"),
        lambda: Stripe(""),
        lambda: Slack("too short"),
    ],
)
def test_a_guessable_secret_is_a_config_error(make: object) -> None:
    with pytest.raises(ConfigError):
        make()  # type: ignore[operator]


def test_no_secret_is_in_a_repr() -> None:
    assert "whsec" not in repr((StandardWebhooks(SECRET), STRIPE, SLACK, GitHub("whsec of 16 letters")))

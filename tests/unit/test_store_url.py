"""The URL of a store: the place of its secret, and its form without a password."""

from pathlib import Path

import pytest

from soorma_ai.settings import hide_password, place_of_store


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:///shop.db", Path("shop.db")),
        ("sqlite://", None),
        ("postgresql://ann:secret@host:5432/shop", Path("shop")),
        ("postgres://host/shop?sslmode=require", Path("shop")),
        ("postgresql://ann:secret@host", Path("soorma")),
        ("postgresql:///../../etc", Path("______etc")),
    ],
)
def test_a_databases_secret_is_stored_in_this_directory_under_its_name_alone(url: str, place: Path | None) -> None:
    assert place_of_store(url) == place


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///shop.db", "sqlite:///shop.db"),
        ("postgresql://ann:secret@host:5432/shop", "postgresql://***@host:5432/shop"),
        ("postgresql://host/shop?user=ann&password=secret", "postgresql://host/shop?***"),
        ("host=db user=ann password=secret", "***"),
        ("local:", "local:"),
        ("nats://ann:p@ss@host/shop", "nats://***@host/shop"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert hide_password(url) == shown

"""The URL of a store: where its secret is kept."""

from pathlib import Path

import pytest

from soorma_ai.settings import place_of_store


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
def test_the_secret_of_a_database_is_kept_in_this_directory_by_its_name_alone(url: str, place: Path | None) -> None:
    assert place_of_store(url) == place

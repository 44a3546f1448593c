"""Commands of features get their store from the program that composes them."""

from click.testing import CliRunner

from soorma_ai.errors import ConfigError
from soorma_ai.features.upkeep.commands.forget import forget


def test_a_features_command_outside_its_program_names_that_program() -> None:
    result = CliRunner().invoke(forget, ["ann", "--yes", "--store", "sqlite:///:memory:"])
    assert isinstance(result.exception, ConfigError)
    assert "apps.cli.main" in str(result.exception)

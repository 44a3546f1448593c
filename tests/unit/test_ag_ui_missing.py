"""Without ag-ui-protocol the gateway names the package to install."""

import subprocess
import sys


def test_the_gateway_names_the_extra_to_install() -> None:
    program = "import sys; sys.modules['ag_ui'] = None; from soorma_ai.gateways.ag_ui import AgUiGateway"
    done = subprocess.run((sys.executable, "-c", program), check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ConfigError: AgUiGateway needs ag-ui-protocol: pip install 'soorma-ai[ag-ui]'" in done.stderr

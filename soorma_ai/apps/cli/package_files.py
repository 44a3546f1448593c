"""Files of the package beside its modules."""

from importlib.resources import files
from pathlib import Path

# Folders inside the wheel, by where they lie in a checkout.
_FOLDERS = {"demo": Path("examples", "02_order_approval"), "template": Path("template")}


def find_shipped(name: str) -> Path:
    """Return the folder of this name inside the wheel; in a checkout, its source."""
    package = Path(str(files("soorma_ai")))
    inside = package / name
    return inside if inside.is_dir() else package.parent / _FOLDERS[name]

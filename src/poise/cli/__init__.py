"""The command line: `poise info`, `poise solve`, `poise studio` and others; `app` lists them."""

import sys

from poise.cli.interrupts import install_interrupt_hook
from poise.errors import INDEX_NAME

__all__ = ["main"]

CALLED_OFF = 130  # exit code of a program that was ended by Ctrl-C


def main() -> None:
    """Run the command line; if its packages are missing, exit with the command that installs them."""
    install_interrupt_hook()
    try:
        from poise.cli.app import app
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"The command line needs typer and rich. Type: pip install '{INDEX_NAME}[cli]'")
    except KeyboardInterrupt:
        sys.exit(CALLED_OFF)
    app()

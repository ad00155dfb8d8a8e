"""The page that the studio serves: viser's, under our own name, with the mouse let through without a pause.

Viser's page waits 50 ms between two messages of one drag. That is kind to distant servers, and it is more than
everything else between a mouse and a pose takes together: here it waits 8 ms. Where viser's page has changed so much
that the words looked for are not in it, it is served as it is.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from poise.errors import MissingExtra

if TYPE_CHECKING:
    import viser

__all__ = ["start_server"]

TITLE = "<title>Viser</title>"
OURS = """<title>Poise studio</title>
<style>
  [role="tab"] { padding-left: 6px !important; padding-right: 6px !important; }  /* all tabs in one row */
</style>
<script>
(function () {
  var later = window.setTimeout;
  window.setTimeout = function (todo, wait) {
    if (wait === 50) arguments[1] = 8;
    return later.apply(window, arguments);
  };
})();
</script>"""


def start_server(host: str, port: int, label: str) -> viser.ViserServer:
    """Start a server on that port, or the next free one.

    Raises:
        MissingExtra: viser is not installed.
    """
    try:
        import viser
        import viser.infra
    except ImportError:
        raise MissingExtra("the studio needs viser. Type: pip install 'poise[studio]'") from None
    with (
        mock.patch.object(viser.infra, "WebsockServer", partial(make_with_page, viser.infra.WebsockServer)),
        mock.patch("rich.print"),  # the command line says where to look, once
    ):
        return viser.ViserServer(host=host, port=port, label=label, verbose=False)


def make_with_page(make: Any, *args: Any, http_server_root: Path, **options: Any) -> Any:
    """Make the server that serves our page."""
    return make(*args, http_server_root=write_page(http_server_root), **options)


def write_page(root: Path) -> Path:
    """Write our page to a folder of its own and return that; viser's own where it cannot be made."""
    try:
        text = (root / "index.html").read_text(encoding="utf-8")
        if TITLE not in text:
            return root
        folder = Path(tempfile.mkdtemp(prefix="poise-studio-"))
        (folder / "index.html").write_text(text.replace(TITLE, OURS, 1), encoding="utf-8")
    except OSError:
        return root
    return folder

"""HTML text of the panel, with escaped names.

Markdown is not used: viser renders HTML embedded in it, and reads the files that its images name.
"""

from __future__ import annotations

import html

__all__ = ["PLAIN", "SMALL", "fill"]

PLAIN = "<div style='font-size:14px;padding:0 12px 6px;line-height:1.45'>{}</div>"
SMALL = "<div style='font-size:12px;padding:2px 10px;line-height:1.4'>{}</div>"


def fill(template: str, *texts: str) -> str:
    """Fill a template with escaped texts: names, errors, notes."""
    return template.format(*map(html.escape, texts))

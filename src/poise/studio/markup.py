"""HTML text of the panel, with escaped names.

Markdown is not used: viser renders HTML embedded in it, and reads the files that its images name.
"""

from __future__ import annotations

import html
import re

__all__ = ["PLAIN", "SMALL", "fill", "say_plainly"]

PLAIN = "<div style='font-size:14px;padding:0 12px 6px;line-height:1.45'>{}</div>"
CALL = re.compile(r"\b[\w.]+\((?:[^()]|\([^()]*\))*\)")
CODE = re.compile(r"\b\w+=\S|\b\w+\(|\w\[\d")  # an argument, a call, an element: Python in a message
SMALL = "<div style='font-size:12px;padding:2px 10px;line-height:1.4'>{}</div>"


def fill(template: str, *texts: str) -> str:
    """Fill a template with escaped texts: names, errors, notes."""
    return template.format(*map(html.escape, texts))


def say_plainly(text: str) -> str:
    """Return a message without its clauses about Python, and with quotation marks instead of those of Python."""
    if "pip install" in text:
        return text
    clauses = re.split(r"(?<=[;,.:]) ", CALL.sub("call()", text))
    kept = [clause for clause in clauses if not CODE.search(clause)]
    while len(kept) < len(clauses) and kept and re.fullmatch(r"(or )?(type|write|pass|use):", kept[-1]):
        kept.pop()
    return re.sub(r"'([^'\n]*)'", r"“\1”", " ".join(kept)).rstrip(" ;,:") or text

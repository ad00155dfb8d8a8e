"""HTML text of the panel, with escaped names.

Markdown is not used: viser renders HTML embedded in it, and reads the files that its images name.
"""

import html
import re

__all__ = ["PLAIN", "SMALL", "fill", "say_plainly", "shorten_lists"]

PLAIN = "<div style='font-size:14px;padding:0 12px 6px;line-height:1.45'>{}</div>"
CALL = re.compile(r"\b[\w.]+\((?:[^()]|\([^()]*\))*\)")
CODE = re.compile(r"\b\w+=\S|\b\w+\(|\w\[\d")  # an argument, a call, an element: Python in a message
QUOTED = r"'([^'\n]*)'"
MANY = re.compile(r"((?:'[^'\n]*', ){3})((?:'[^'\n]*', )+'[^'\n]*')")  # more than four names
SMALL = "<div style='font-size:12px;padding:2px 10px;line-height:1.4'>{}</div>"


def fill(template: str, *texts: str) -> str:
    """Fill a template with escaped texts: names, errors, notes."""
    return template.format(*map(html.escape, texts))


def say_plainly(text: str) -> str:
    """Return a message without its clauses about Python, and with quotation marks instead of those of Python."""
    if "pip install" in text:
        return text
    clauses = re.split(r"(?<=[;,.:]) ", CALL.sub("call()", text))
    kept: list[str] = []
    for clause in clauses:
        if not CODE.search(clause):
            kept.append(clause)
        elif kept and kept[-1].endswith(",") and clause[-1] in ";.":
            kept[-1] = kept[-1][:-1] + clause[-1]  # the sentence ends here instead
    while len(kept) < len(clauses) and kept and re.fullmatch(r"(or )?(type|write|pass|use):", kept[-1]):
        kept.pop()
    return re.sub(QUOTED, r"“\1”", " ".join(kept)).rstrip(" ;,:") or text


def shorten_lists(text: str) -> str:
    """Return a message with the first three names of every list of more than four."""
    return MANY.sub(lambda found: f"{found[1][:-2]} and {len(re.findall(QUOTED, found[2]))} more", text)

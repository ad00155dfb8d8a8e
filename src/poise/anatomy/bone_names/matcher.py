"""Roles by bone names, with their confidence.

The names of a skeleton are compared with tables of common tools, and read word by word if no table fits; the most
confident reading wins. A role whose frame has the wrong ancestors loses half its confidence.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from poise.anatomy.bone_names.schemes import CORE, PARENTS, SCHEMES, Scheme
from poise.anatomy.bone_names.words import find_word_roles
from poise.model import Model

__all__ = ["CORE", "LEAST_REPORT_CONFIDENCE", "RoleMatch", "RoleReport", "find_bone_roles", "find_roles"]

LEAST_REPORT_CONFIDENCE = 0.4  # a report below it assigns no roles to a model
LONGEST_NAME = 200  # characters; longer names are ignored
LEAST_MATCH_CONFIDENCE = 0.3  # matches below it are dropped
_ESCAPED = re.compile(r"FBXASC([01][0-9]{2})", re.ASCII)
_NUMBERED = re.compile(r"_[0-9]{1,5}$", re.ASCII)
_SEPARATORS = re.compile(r"[\s_.\-]+")


@dataclass(frozen=True, slots=True)
class RoleMatch:
    """A role and its frame, with the confidence (0 to 1) and the reason."""

    role: str
    frame: str
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class RoleReport:
    """The roles of a skeleton by its names.

    Attributes:
        scheme: The tool whose names they are; "words" if no table fits, "" if nothing does.
        confidence: The mean confidence of the fourteen main roles, with 0 for missing ones.
        matches: The roles found.
        missing: The main roles without a frame.
        unknown: The frames without a role.
    """

    scheme: str
    confidence: float
    matches: tuple[RoleMatch, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def roles(self) -> dict[str, str]:
        """The frame of each role."""
        return {match.role: match.frame for match in self.matches}

    @property
    def is_known(self) -> bool:
        """Whether the names are those of a known tool."""
        return self.scheme not in ("", "words") and self.confidence >= LEAST_REPORT_CONFIDENCE

    def __str__(self) -> str:
        lines = [f"{self.scheme or 'no'} names, confidence {self.confidence:.2f}, {len(self.matches)} roles"]
        width = max((len(match.role) for match in self.matches), default=0)
        lines += [f"  {m.role:{width}}  {m.confidence:.2f}  {m.frame}  ({m.why})" for m in self.matches]
        if self.missing:
            lines.append(f"  missing: {', '.join(self.missing)}")
        if self.unknown:
            more = f", ... ({len(self.unknown)} in all)" if len(self.unknown) > 12 else ""
            lines.append(f"  without a role: {', '.join(self.unknown[:12])}{more}")
        return "\n".join(lines)


def find_roles(skeleton: Model | Mapping[str, str | None] | Iterable[str]) -> RoleReport:
    """Find the roles of frames by their names.

    Args:
        skeleton: A model, or frame names with their parents' names, or frame names alone.
    """
    if isinstance(skeleton, Model):
        parents = {name: skeleton.frame(name).parent for name in skeleton.frames}
    elif isinstance(skeleton, Mapping):
        parents = dict(skeleton)
    else:
        parents = dict.fromkeys(skeleton)
    words = {name: unescape(name) for name in parents if len(name) <= LONGEST_NAME}
    attempts = [make_report(parents, *match_words(words))]
    for written in (words, drop_counts(words)) if are_counted(words) else (words,):
        for prefix in list_prefixes(written.values()):
            plain = {name: strip_prefix(text, prefix) for name, text in written.items()}
            attempts += [make_report(parents, scheme.name, match_scheme(plain, scheme)) for scheme in SCHEMES]
    best = max(attempts, key=lambda r: (round(r.confidence, 6), len(r.matches), -len(r.unknown)))
    return best if best.matches else RoleReport("", 0.0, (), CORE, tuple(parents))


def find_bone_roles(scheme: str, bone: str) -> tuple[str, ...]:
    """Return the roles of one bone in one table, such as ("VRM", "leftHand"); empty if unknown."""
    table = next((s for s in SCHEMES if s.name == scheme), None)
    return () if table is None else table.names.get(bone, ())


# ------------------------------------------------------------------------------------------------ matching


def unescape(name: str) -> str:
    """Return a name with the character codes of Maya's FBX decoded: ``handFBXASC046L`` is ``hand.L``."""
    return _ESCAPED.sub(lambda found: chr(int(found[1])), name)


def are_counted(written: Mapping[str, str]) -> bool:
    """Return whether most names end in a serial number, as in Sketchfab files: ``mixamorig:Hips_01``."""
    return sum(bool(_NUMBERED.search(text)) for text in written.values()) > 0.6 * len(written)


def drop_counts(written: Mapping[str, str]) -> dict[str, str]:
    """Return the names without their serial numbers."""
    return {name: _NUMBERED.sub("", text) for name, text in written.items()}


@lru_cache(maxsize=4096)  # every name is compared with every table
def fold_name(name: str) -> str:
    """Return a name in lower case without separators."""
    return _SEPARATORS.sub("", name).lower()


def strip_prefix(name: str, prefix: str) -> str:
    """Return a name without its namespace and a common prefix."""
    tail = re.split(r"[:|]", name)[-1].strip()
    return tail[len(prefix) :] if prefix and tail.startswith(prefix) else tail


def list_prefixes(names: Iterable[str]) -> list[str]:
    """List the prefixes that many names share, such as "mixamorig_", "DEF-" or "Bip01 ", and the empty one."""
    tails = [strip_prefix(name, "") for name in names]
    counts: dict[str, int] = {}
    for tail in tails:
        starts = {tail[: m.end()] for m in re.finditer(r"[_\-. ]", tail[:-1])}
        starts.update(m[0] for m in [re.match(r"mixamorig\d*", tail)] if m)
        for start in starts:
            counts[start] = counts.get(start, 0) + 1
    often = [start for start, n in counts.items() if n >= 8 and n >= 0.2 * len(tails)]
    return ["", *sorted(often, key=lambda start: -counts[start])[:6]]


Found = dict[str, tuple[str, float, str]]  # role to frame, confidence, reason


def match_scheme(plain: Mapping[str, str], scheme: Scheme) -> Found:
    """Return the roles that a table gives; the first frame with a name wins."""
    exact = {bone: (bone, 1.0) for bone in scheme.names}
    loose = {fold_name(bone): (bone, 0.9) for bone in scheme.names}
    found: Found = {}
    backs: dict[str, tuple[str, float]] = {}
    for name, short in plain.items():
        bone, sure = exact.get(short) or loose.get(fold_name(short)) or ("", 0.0)
        for role in scheme.names.get(bone, ()):
            if role not in found or sure > found[role][1]:
                found[role] = (name, sure, f"{scheme.name}: {bone}")
        if bone in scheme.spine and bone not in backs:
            backs[bone] = (name, sure)
    present = [backs[bone] for bone in scheme.spine if bone in backs]
    if present:
        places = {"spine_1": present[0], "chest": present[-1]}
        if len(present) > 2:
            places["spine_2"] = present[(len(present) - 1) // 2]
        for role, (name, sure) in places.items():
            found.setdefault(role, (name, sure, f"{scheme.name}: back"))
    return found


def match_words(written: Mapping[str, str]) -> tuple[str, Found]:
    """Return the roles that words suggest; of equal confidence the last frame wins, the outermost of several joints."""
    found: Found = {}
    for name, text in written.items():
        roles, sure = find_word_roles(text)
        for role in roles:
            if role not in found or sure >= found[role][1]:
                found[role] = (name, sure, "by its words")
    return "words", found


def make_report(parents: Mapping[str, str | None], scheme: str, found: Found) -> RoleReport:
    """Return the report of an attempt, after a check of the tree."""
    matches = []
    for role, (frame, by_name, why) in found.items():
        wrong = is_misplaced(role, frame, found, parents)
        sure = 0.5 * by_name if wrong else by_name
        if sure >= LEAST_MATCH_CONFIDENCE:
            reason = f"{why}, but its place in the tree is wrong" if wrong else why
            matches.append(RoleMatch(role, frame, round(sure, 3), reason))
    have = {match.role: match.confidence for match in matches}
    main = [have[role] for role in CORE if role in have]
    confidence = sum(main) / len(CORE)
    playing = {match.frame for match in matches}
    missing = tuple(role for role in CORE if role not in have)
    return RoleReport(scheme, confidence, tuple(matches), missing, tuple(n for n in parents if n not in playing))


def is_misplaced(role: str, frame: str, found: Found, parents: Mapping[str, str | None]) -> bool:
    """Return whether the frame is not a descendant of the frame of its parent role."""
    part, _, side = role.rpartition("_")
    above = PARENTS.get(role) or (PARENTS.get(part, "") if side in ("l", "r") else "")
    if above and above not in found:
        above = f"{above}_{side}"
    if not above or above not in found or not any(parents.values()):
        return False
    wanted, at, steps = found[above][0], frame, 0
    while at != wanted and steps <= len(parents):
        at, steps = parents.get(at) or "", steps + 1
        if not at:
            return True
    return at != wanted

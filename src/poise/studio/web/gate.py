"""The rules for connecting to the studio: a known Host, a known Origin, and the token of the address.

A browser sends requests to this machine on behalf of any page it displays. Three checks stop them:

- Host must be a loopback name or an address that the user gave. A page whose name was rebound to 127.0.0.1 still sends
  its own name.
- Origin, if present, must be the studio's own (the same name and port as Host), or be listed in `allow_origin`.
- The query must contain the token, which is new for every studio and appears only in the printed address. A cookie
  would be sent to every other port of this machine, and not within the frame of a notebook.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from poise.errors import InvalidValue

__all__ = ["EVERYWHERE", "Gate"]

HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.ASCII)  # a Host header
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses of a server that listens on every network


@dataclass(frozen=True)
class Gate:
    """The access rules of one studio.

    Attributes:
        names: Accepted hosts in addition to the loopback names.
        origins: Accepted origins in addition to the studio's own.
        any_address: Whether every IP address is accepted as a host. Only names can be rebound.
        token: The secret in the address.
        advice: What to do about a host or an origin that is not accepted, or "".
    """

    names: frozenset[str]
    origins: frozenset[str]
    any_address: bool
    token: str = field(repr=False)
    advice: str = "Name a proxy by --allow-origin."

    @classmethod
    def make(cls, host: str, allow_origin: Iterable[str] | str = ()) -> Gate:
        """Return the gate of a studio that listens on `host`.

        Raises:
            InvalidValue: An origin is not written as scheme://host or scheme://host:port.
        """
        given = (
            [allow_origin] if isinstance(allow_origin, str) or not isinstance(allow_origin, Iterable) else allow_origin
        )
        origins = frozenset(map(read_origin, given))
        everywhere = host in EVERYWHERE
        own = socket.gethostname() if everywhere else host
        names = {own.lower(), *(urlsplit(origin).hostname or "" for origin in origins)}
        return cls(frozenset(names), origins, everywhere, secrets.token_urlsafe(16))

    def find_fault(self, hosts: Sequence[str], origins: Sequence[str], path: str) -> str:
        """Return the reason to reject a request, or ""; `path` includes the query."""
        if len(hosts) != 1 or "@" in hosts[0] or not self.is_known(hosts[0]):
            return f"This server does not answer to this host name. {self.advice}".strip()
        own = {f"http://{hosts[0].lower()}", f"https://{hosts[0].lower()}"}
        if len(origins) > 1 or not {origin.lower() for origin in origins} <= own | self.origins:
            return f"A page of another origin may not connect. {self.advice}".strip()
        tokens = parse_qs(path.partition("#")[0].partition("?")[2]).get("token", [])
        given = tokens[0].encode("utf-8", "replace") if len(tokens) == 1 else b""
        if not secrets.compare_digest(given, self.token.encode()):
            return "The token is missing or wrong."
        return ""

    def is_known(self, host: str) -> bool:
        """Return whether a Host header names this studio; the port may be that of an SSH tunnel."""
        if not HOST.fullmatch(host):
            return False
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in ("localhost", *self.names):
                return True
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self.any_address


def read_origin(origin: object) -> str:
    """Return an origin in the form that browsers send.

    Raises:
        InvalidValue: `origin` is not scheme://host or scheme://host:port.
    """
    text = origin.lower().rstrip("/") if isinstance(origin, str) else ""
    scheme, _, host = text.partition("://")
    if scheme not in ("http", "https") or not HOST.fullmatch(host):
        raise InvalidValue(f"allow_origin has {origin!r}; write it as in https://hub.example or http://10.0.0.1:8888.")
    return text

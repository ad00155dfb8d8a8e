"""Notifications to one viewer, in the corner of the window."""

from collections.abc import Callable
from typing import Any

from poise.errors import PoiseError
from poise.studio.markup import say_plainly

__all__ = ["notify", "try_to"]


def notify(client: Any, title: str, text: str = "", *, color: str | None = None, seconds: float = 12.0) -> None:
    """Show a notification to a viewer, if the action is one's; `text` is a message of Poise."""
    if client is not None:
        client.add_notification(title, say_plainly(text), auto_close_seconds=seconds, color=color)


def try_to(client: Any, do: Callable[[], Any]) -> bool:
    """Call a function and return whether it worked; if it raises, show the viewer the error."""
    try:
        do()
    except PoiseError as error:
        notify(client, "That did not work", str(error), color="red")
        return False
    return True

"""The ghost of the original clip: a translucent copy of the body at the same frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poise.pictures.body.flesh import Color
from poise.studio.clips.player import sample
from poise.studio.scene.body_view import BodyView

if TYPE_CHECKING:
    from poise.studio.session import Session

__all__ = ["Ghost"]

PALE: Color = (86, 130, 211)
FAINT = 0.3


class Ghost:
    """The body of the original clip, translucent, at the same frame."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view: BodyView | None = None
        self._made = 0

    def show(self, on: bool) -> None:
        """Show or remove the ghost."""
        with self.session.lock:
            if self.view is not None:
                self.view.remove()
                self.view = None
            if on and self.session.player.motion is not None:
                self._made += 1
                scene, model = self.session.server.scene, self.session.model
                self.view = BodyView(scene, f"/ghost_{self._made}", model, color=PALE)
                if self.session.view.dressed is not None:
                    self.view.dress(self.session.view.dressed.dress)
                self.view.fade(FAINT)
        self.follow()

    def follow(self) -> None:
        """Move the ghost to the original's pose at the current time."""
        original, view = self.session.player.original, self.view
        if view is not None and original is not None and original.model is view.model:
            view.show(view.model.fk(sample(original, self.session.player.seconds)))

"""The style folder: the clips, the learned style, and a slider from the rest pose to the style."""

import html
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from poise.formats import save
from poise.goals import Style
from poise.studio.markup import SMALL
from poise.studio.panel.progress_bar import WorkBar
from poise.studio.session import Session
from poise.studio.styles.clips import StyleClip
from poise.studio.styles.learner import StyleLearner

__all__ = ["StyleFolder"]

HOW = "Open clips, and what you drag looks like them: of this body, or of any other on two legs."
MAX_LISTED_CLIPS = 6  # clips at most to list by name


class StyleFolder:
    """The style of the body; created within its tab.

    Attributes:
        styles: The style learner.
    """

    def __init__(self, session: Session, styles: StyleLearner) -> None:
        self.session, self.styles = session, styles
        gui: Any = session.server.gui
        with gui.add_folder("Style", expand_by_default=False):
            self.words = gui.add_html(SMALL.format(HOW))
            self.file = gui.add_upload_button(
                "Open clips …", hint="BVH, glTF, VRM, a table, AMASS, a saved style; one by one, or a ZIP of several"
            )
            self.here = gui.add_button("Learn from the clip that is open", visible=False)
            self.bar = WorkBar(session, self.styles.background, self.styles.background.cancel)
            self.share = gui.add_slider(
                "Rest to Style", 0.0, 1.0, 0.05, 0.0, visible=False, hint="0: your own pose. 1: as in the clips"
            )
            self.save = gui.add_button(
                "Save style", visible=False, hint="An NPZ file, to be opened here or by Style.load"
            )
            self.forget = gui.add_button("Forget all clips", visible=False)
        self.listen()
        self.show()

    def listen(self) -> None:
        """Connect the controls to their callbacks."""
        self.file.on_upload(lambda _: self.styles.open_upload(self.file.value.name, self.file.value.content))
        self.here.on_click(lambda _: self.on_here())
        self.share.on_update(lambda event: self.on_share() if event.client else None)
        self.save.on_click(self.on_save)
        self.forget.on_click(lambda _: self.styles.forget())
        self.styles.changed.append(self.show)
        self.styles.background.changed.append(self.show)
        self.session.player.changed.append(lambda what: self.show() if what == "motion" else None)

    def show(self) -> None:
        """Update the clips, and the slider if a style was learned."""
        if self.session.stopped:
            return
        styles = self.styles
        style, busy = styles.style, styles.background.task is not None
        self.words.content = SMALL.format(describe_clips(styles.clips, style, styles.background.refused))
        self.here.visible, self.here.disabled = self.session.player.motion is not None, busy
        self.share.visible = self.save.visible = style is not None
        self.forget.visible = bool(styles.clips)
        if self.share.value != styles.share:
            self.share.value = styles.share

    # ------------------------------------------------------------------------------------------ callbacks

    def on_here(self) -> None:
        """Learn from the open clip, with its edits."""
        motion = self.session.player.motion
        if motion is not None:
            self.styles.open(motion, "this clip")

    def on_share(self) -> None:
        """Apply the style slider."""
        self.styles.share = self.share.value

    def on_save(self, event: Any) -> None:
        """Send the style to the viewer."""
        style = self.styles.restore_units()
        if style is not None:
            name = f"{Path(self.session.model.name).stem or 'body'}_style.npz"
            event.client.send_file_download(name, write_style(style), save_immediately=True)

    def change_body(self) -> None:
        """Drop the style of the previous body."""
        self.styles.forget()


def write_style(style: Style) -> bytes:
    """Return the content of a style file."""
    with TemporaryDirectory(prefix="poise-style-") as folder:
        return save(style, Path(folder) / "style.npz").read_bytes()


def describe_clips(clips: list[StyleClip], style: Style | None, refused: str) -> str:
    """Describe the learned clips, and the last error."""
    if not clips:
        return html.escape(refused) or HOW
    lines = [f"<b>{html.escape(clip.name)}</b>: {html.escape(clip.note)}" for clip in clips[:MAX_LISTED_CLIPS]]
    if len(clips) > MAX_LISTED_CLIPS:
        lines.append(f"and {len(clips) - MAX_LISTED_CLIPS} more")
    if refused:
        lines.append(html.escape(refused))
    frames = sum(len(clip.motion) for clip in clips if clip.motion is not None)
    if style is not None:
        learned = f"Learned from {len(style)} frames."
    elif frames == 1:
        learned = "Nothing is learned yet: a style needs two frames at least, and this is one."
    else:
        learned = "Nothing is learned yet."
    return "<br>".join([learned, *lines])

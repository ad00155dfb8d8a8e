"""The panel next to the body: error messages at the top, then tabs.

All viewers share it, except the folder of the chosen handle, which each viewer has alone.
"""

import html
import threading
import time
from enum import Enum, auto
from typing import Any

from poise.pictures.body.flesh import Color
from poise.solvers.report.explanation import CauseKind, Explanation, WayOutKind
from poise.studio.clips.second_body import SecondBody
from poise.studio.panel.failure_help import PAGE, find_reason
from poise.studio.panel.follow_box import FollowBox
from poise.studio.panel.joints_tab import JointsTab
from poise.studio.panel.learn_tab import LearnTab
from poise.studio.panel.motion_tab import MotionTab
from poise.studio.panel.pose_tab import PoseTab
from poise.studio.panel.race_tab import RaceTab
from poise.studio.panel.shortcuts import Shortcuts, describe_keys
from poise.studio.panel.solver_tab import SolverTab
from poise.studio.puppet import FrameResult
from poise.studio.scene.grips import COLORS
from poise.studio.scene.planar_marks import PlanarMarks
from poise.studio.scene.rings import Rings
from poise.studio.session import Session
from poise.studio.styles.learner import StyleLearner

__all__ = ["Panel"]

HELP = "<b>Drag</b> a handle and the body follows. <b>Click</b> it to pin it where it is, again to release it."
MORE_HELP = (
    "A click plants a foot. The arrows and rings of the last handle move and turn it along one axis. Drag the "
    "background to look around, scroll to zoom. <i>Click a part to turn it</i>, in Joints, gives a part that you "
    "click rings at its joint."
)
FOLD = "<details style='margin-top:5px'><summary style='cursor:pointer'>{}</summary>{}</details>"
KEYBOARD = FOLD.format("Keys", describe_keys())
HOW_TO = FOLD.format("More", MORE_HELP) + KEYBOARD
DONE = "All targets are reached." + FOLD.format("How to", f"{HELP} {MORE_HELP}") + KEYBOARD
STYLE = (
    "max-height:230px;overflow:auto;font-size:12.5px;line-height:1.45;padding:8px 10px;border-left:3px solid;"
    "border-radius:4px;margin:2px 9px"
)
NOTICE_STYLE = (  # notices cover the stage: mouse events pass through them, except on the close button
    "<style>.mantine-Notification-root{pointer-events:none!important}"
    ".mantine-Notification-closeButton{pointer-events:auto!important}</style>"
)
CALM, ALARM, REFUSED = (24, 168, 156), (222, 52, 60), (245, 166, 35)  # readable on white and on black
FIRST_CAUSES = (CauseKind.PROVED, CauseKind.GIVES_WAY)  # listed before the figures
LATER_WAYS_OUT = (WayOutKind.UNPROVED, WayOutKind.TOLERANCE)  # these do not change the targets
FIGURES_PAUSE = 0.25  # [s] between updates of the figures


class Topic(Enum):
    """The topic of the message at the top."""

    HELP = auto()
    MISSED = auto()
    WHY = auto()
    REFUSED = auto()
    NOTE = auto()
    DONE = auto()


FAILURES = (Topic.MISSED, Topic.WHY, Topic.REFUSED)


class Panel:
    """The whole panel."""

    def __init__(self, session: Session, second_body: SecondBody, styles: StyleLearner) -> None:
        self.session, self.rings = session, Rings(session)
        gui = session.server.gui
        self._said = ""
        self._topic = Topic.HELP
        self._figures_at = 0.0
        self._lock = threading.Lock()
        self.status = gui.add_html(frame_words(HELP + HOW_TO, CALM))
        self.legend = gui.add_html(draw_legend())
        self.tabs = gui.add_tab_group()
        with self.tabs.add_tab("Pose"):
            self.pose = PoseTab(session, styles)
        with self.tabs.add_tab("Joints"):
            self.joints = JointsTab(session, self.rings)
        with self.tabs.add_tab("Solver"):
            self.solver = SolverTab(session)
        with self.tabs.add_tab("Learn"):
            self.learn = LearnTab(session)
        with self.tabs.add_tab("Race"):
            self.race = RaceTab(session)
        with self.tabs.add_tab("Motion"):
            self.motion = MotionTab(session, second_body)
            self.follow = FollowBox(session)
            self.keys = Shortcuts(session, self.rings)
        self.figures = gui.add_html(shrink_words("&nbsp;"))
        self.planar = PlanarMarks(session)

    def change_body(self) -> None:
        """Update every tab for another body."""
        for tab in (self.pose, self.joints, self.solver, self.learn, self.race, self.motion, self.planar):
            tab.change_body()
        self.say(Topic.HELP, HELP + HOW_TO, CALM)

    def select(self, viewer: int, name: str) -> None:
        """Select the handle that a viewer touched."""
        self.pose.select(viewer, name)
        self.learn.select(name)
        self.joints.select(name)
        self.rings.put_away(viewer)

    def join(self, client: Any) -> None:
        """Add the folder of a new viewer."""
        self.pose.join(client)

    def leave(self, viewer: int) -> None:
        """Remove the data of a viewer who has left."""
        self.pose.leave(viewer)
        self.rings.put_away(viewer)

    def say(self, topic: Topic, text: str, color: Color) -> None:
        """Show a message at the top; it is sent only if it changed."""
        with self._lock:
            self._topic = topic
            if text != self._said:
                self._said = text
                self.status.content = frame_words(text, color)

    def explain(self, explanation: Explanation) -> None:
        """Show why a handle is missed."""
        self.say(Topic.WHY, "<b>Not everything can be reached.</b>" + describe_why(explanation), ALARM)

    def report(self, frame: FrameResult, refused: str) -> None:
        """Show the missed handles after every frame, and the figures a few times per second."""
        if refused:
            self.say(
                Topic.REFUSED, f"<b>This method does not support these goals.</b><br>{html.escape(refused)}", REFUSED
            )
        elif frame.missed:
            if self._topic is not Topic.WHY:
                self.say(Topic.MISSED, f"<b>Missed:</b> {describe_missed(frame)}", ALARM)
        elif frame.note:
            self.say(Topic.NOTE, f"Reached; {html.escape(frame.note)}.", REFUSED)
        elif (frame.errors and self.session.puppet.held) or self._topic in FAILURES:
            self.say(Topic.DONE, DONE, CALM)
        now = time.perf_counter()
        if now - self._figures_at > FIGURES_PAUSE:
            self._figures_at = now
            self.figures.content = shrink_words(describe_figures(self.session.meter.summarize()))


def frame_words(text: str, color: Color) -> str:
    """Return text in a coloured box."""
    red, green, blue = color
    return f"<div style='{STYLE};background:rgba({red},{green},{blue},.13);border-color:rgb{color}'>{text}</div>"


def shrink_words(text: str) -> str:
    """Return text in small grey letters."""
    return f"<div style='font-size:11px;color:#8a94a0;padding:4px 10px;font-variant-numeric:tabular-nums'>{text}</div>"


def draw_legend() -> str:
    """Draw the legend of the handle colours."""
    words = {name: {"held": "in hand", "limit": "at limit"}.get(name, name) for name in COLORS}
    dots = [
        "<span style='display:inline-flex;align-items:center;margin-right:6px'><span style='width:9px;height:9px;"
        f"border-radius:5px;background:rgb{COLORS[state]};margin-right:4px'></span>{word}</span>"
        for state, word in words.items()
    ]
    return f"{NOTICE_STYLE}<div style='font-size:11px;padding:2px 10px 6px;line-height:1.6'>{''.join(dots)}</div>"


def describe_why(explanation: Explanation) -> str:
    """Describe the obstacle, the remedy and the page to read; the figures are folded."""
    lines = [html.escape(line) for line in (explanation.summary, *(part.text for part in explanation.parts))]
    first = [html.escape(line) for line in choose_lines(explanation)]
    shown = "".join(f"<div style='margin-top:5px'>{line}</div>" for line in first or lines[:1])
    rest = "".join(f"<div style='margin-top:4px'>{line}</div>" for line in lines if line not in first)
    reason = find_reason(explanation)
    if reason is not None:
        page = f"<span style='white-space:nowrap'>{PAGE}</span>, &ldquo;{html.escape(reason.section)}&rdquo;"
        shown = f"<div style='margin-top:3px'>{reason.advice} <i>More: {page}.</i></div>{shown}"
    return shown + FOLD.format("In figures", rest)


def choose_lines(explanation: Explanation) -> list[str]:
    """Return the sentences to show before the figures, at most three."""
    causes, ways = explanation.causes, [way for way in explanation.ways_out if way.kind not in LATER_WAYS_OUT]
    telling = [cause.text for cause in causes if cause.kind in FIRST_CAUSES] + [way.text for way in ways[:1]]
    return (telling or [cause.text for cause in causes])[:3]


def describe_missed(frame: FrameResult) -> str:
    """List the missed handles with their errors."""
    return ", ".join(f"{html.escape(name)} by {describe_error(*frame.errors[name])}" for name in sorted(frame.missed))


def describe_error(metres: float, radians: float) -> str:
    """Format an error [m, rad] with readable units."""
    far = f"{100 * metres:.1f} cm" if metres > 0.01 else f"{1000 * metres:.1f} mm"
    turn = f"{57.29578 * radians:.0f} degrees"
    return far if radians < 0.02 else f"{far} and {turn}" if metres > 1e-3 else turn


def describe_figures(figures: dict[str, Any]) -> str:
    """Return the figures on one line."""
    if not figures["frames_per_second"]:
        return "&nbsp;"
    words = f"solve {figures['solve_ms']:.2f} ms &middot; {figures['frames_per_second']:.0f} frames/s"
    return f"{words} &middot; mouse to pose {figures['delay_ms']:.1f} ms" if figures["delay_ms"] else words

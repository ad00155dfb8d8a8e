"""The joints tab: sliders of all joints, the pose and a handle as numbers, and typed targets."""

import html
import math
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.goals.flat import fill_place, find_third
from poise.model.plane import find_normal
from poise.spatial import Rotation
from poise.studio.panel.coordinates import Dial, find_dials, format_q, format_transform, read_dials, set_dial
from poise.studio.puppet import FrameResult
from poise.studio.scene.rings import Rings
from poise.studio.session import Session
from poise.studio.web.throttle import Pace

__all__ = ["JointsTab"]


NUMBERS_PAUSE = 0.2  # [s] between updates of the numbers
MAX_SLIDERS = 160  # sliders at most
COPY_SCRIPT = (
    "(async t=>{try{await navigator.clipboard.writeText(t)}catch(e){const a=document.createElement('textarea');"
    "a.value=t;document.body.appendChild(a);a.select();document.execCommand('copy');a.remove()}})(this.dataset.text);"
    "this.textContent='Copied';setTimeout(()=>this.textContent=this.dataset.label,1200)"
)


class JointsTab:
    """The tab of joints and numbers; created within its tab."""

    def __init__(self, session: Session, rings: Rings) -> None:
        self.session, self.rings = session, rings
        self.rings.chosen.append(self.find_joint)
        gui: Any = session.server.gui
        self.handle = gui.add_dropdown("Handle", tuple(session.grips.frames))
        self.numbers = gui.add_html("")
        self.place = gui.add_vector3("Target [m]", (0.0, 0.0, 0.0), step=0.001, hint="x, y, z in the world")
        self.flat = gui.add_vector2("Target in its plane [m]", (0.0, 0.0), step=0.001, hint="The body moves in a plane")
        self.turn = gui.add_vector3("Rotation [°]", (0.0, 0.0, 0.0), step=0.1, hint="Roll, pitch, yaw in the world")
        self.go = gui.add_button_group("Go to", ("Target", "Target and rotation"))
        clicks = gui.add_checkbox("Click a part to turn it", False, hint="Its joint gets rings; Escape puts them away")
        clicks.on_update(lambda _: self.rings.listen(clicks.value))
        self.find = gui.add_text("Find a joint", "", hint="Part of its name")
        self.folder = gui.add_folder("Joints: degrees, metres")
        self.pose = gui.add_html("")
        self.dials: tuple[Dial, ...] = ()
        self.sliders: list[Any] = []
        self.handle.on_update(lambda event: self.take_place() if event.client is not None else None)
        self.go.on_click(lambda _: self.on_go())
        self.find.on_update(lambda _: self.filter())
        self.pace = Pace(self.refresh, NUMBERS_PAUSE)
        session.listeners.append(self.show)
        self.change_body()

    # ------------------------------------------------------------------------------------------ display

    def change_body(self) -> None:
        """Add a slider for every coordinate of the new body."""
        self.rings.change_body()
        for slider in self.sliders:
            slider.remove()
        session = self.session
        self.handle.options = tuple(session.grips.frames)
        self.find.value = ""
        self.flat.visible = find_normal(session.model) is not None
        self.place.visible = not self.flat.visible
        self.dials = find_dials(session.model, session.puppet.size)[:MAX_SLIDERS]
        self.sliders = []
        with self.folder:
            for dial in self.dials:
                self.sliders.append(self.add_slider(dial))
        self.take_place()
        self.refresh()

    def add_slider(self, dial: Dial) -> Any:
        """Add the slider of one coordinate, in degrees or metres."""
        gui: Any = self.session.server.gui
        step = 0.001 if dial.slides else 0.1
        low, high = (round(round(scale(dial, end) / step) * step, 4) for end in (dial.low, dial.high))
        start = min(max(0.0, low), high)
        slider = gui.add_slider(dial.name, low, high, step, start, hint=describe_range(dial))
        slider.on_update(lambda event: self.on_slide(dial, slider.value, event.client))
        return slider

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Request an update of the numbers."""
        self.pace.ask()

    def refresh(self) -> None:
        """Update the numbers."""
        with self.session.lock:  # another body may be opening
            if not self.session.stopped:
                self.show_numbers()

    def show_numbers(self) -> None:
        """Update the numbers from the current pose."""
        session, q = self.session, self.session.puppet.q
        values = read_dials(session.model, self.dials, q)
        for dial, slider, value in zip(self.dials, self.sliders, values, strict=True):
            shown = min(max(scale(dial, float(value)), slider.min), slider.max)
            if abs(shown - slider.value) > 0.5 * slider.step:
                slider.value = round(shown, 4)
        if self.handle.value in session.grips.frames:
            self.numbers.content = describe_handle(self.handle.value, session.puppet.transform(self.handle.value))
        self.pose.content = describe_pose(self.dials, values, q)

    def filter(self) -> None:
        """Show the sliders whose names contain the typed words."""
        words = self.find.value.lower().split()
        exact = any(dial.joint == self.find.value for dial in self.dials)
        for dial, slider in zip(self.dials, self.sliders, strict=True):
            named = all(word in dial.name.lower() for word in words)
            slider.visible = dial.joint == self.find.value if exact else named

    def find_joint(self, joint: str | None) -> None:
        """Show the sliders of the joint chosen on the body, or all for None."""
        self.find.value = joint or ""
        self.filter()

    def select(self, name: str) -> None:
        """Select the handle that was touched last."""
        if self.handle.value != name:
            self.handle.value = name
            self.take_place()

    def take_place(self) -> None:
        """Copy the transform of the handle into the input fields."""
        if self.handle.value not in self.session.grips.frames:
            return
        T = self.session.puppet.transform(self.handle.value)
        self.place.value = tuple(round(float(x), 4) for x in T[:3, 3])
        normal = find_normal(self.session.model)
        self.flat.value = tuple(x for k, x in enumerate(self.place.value) if k != (2 if normal is None else normal))
        self.turn.value = tuple(round(math.degrees(x), 2) for x in find_rpy(T[:3, :3]))
        self.pace.ask()

    # ------------------------------------------------------------------------------------------ callbacks

    def on_slide(self, dial: Dial, value: float, client: Any = True) -> None:
        """Turn one joint; handles and pins follow, and the viewer's rings move to the joint."""
        if client is None:
            return
        if not dial.slides and getattr(client, "client_id", None) in self.rings.turns:
            self.rings.choose(client.client_id, dial.joint)
        puppet = self.session.puppet
        puppet.turn_joint(dial.name, set_dial(puppet.model, dial, puppet.q, unscale(dial, float(value))))
        self.session.touch()

    def on_go(self) -> None:
        """Move the handle to the typed target."""
        target, handle = np.eye(4), self.handle.value
        target[:3, 3] = self.find_place(handle)
        roll, pitch, yaw = (math.radians(x) for x in self.turn.value)
        target[:3, :3] = Rotation.from_euler("ZYX", (yaw, pitch, roll)).matrix
        self.session.puppet.send(handle, target if "rotation" in self.go.value else target[:3, 3])
        self.session.touch()

    def find_place(self, handle: str) -> Floats:
        """Return the typed position [m]; for a planar body two coordinates are typed."""
        if not self.flat.visible:
            return np.array(self.place.value)
        model, frame = self.session.model, self.session.puppet.handles[handle].frame
        return np.asarray(fill_place(np.array(self.flat.value), *find_third(model, frame)))


def scale(dial: Dial, value: float) -> float:
    """Convert a value to slider units: degrees or metres."""
    return value if dial.slides else math.degrees(value)


def unscale(dial: Dial, value: float) -> float:
    """Convert a slider value to radians or metres."""
    return value if dial.slides else math.radians(value)


def describe_range(dial: Dial) -> str:
    """Describe the range of a coordinate."""
    if not dial.bounded:
        return "It has no range of its own"
    text = f"{dial.low:.3f} to {dial.high:.3f} {dial.unit}".rstrip()
    return text if dial.slides else f"{math.degrees(dial.low):.1f} to {math.degrees(dial.high):.1f} degrees ({text})"


def find_rpy(R: Floats) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a rotation, R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    yaw, pitch, roll = (float(x) for x in Rotation.from_matrix(R).to_euler("ZYX"))
    return roll, pitch, yaw


def make_copy(label: str, text: str) -> str:
    """Return an HTML button that copies a text."""
    look = "font-size:11px;padding:1px 8px;margin-right:6px;border:1px solid #9aa5b1;border-radius:4px;cursor:pointer;"
    look += "background:none;color:inherit"
    given = f'data-label="{html.escape(label)}" data-text="{html.escape(text, quote=True)}"'
    return f'<button style="{look}" {given} onclick="{html.escape(COPY_SCRIPT)}">{label}</button>'


def describe_handle(name: str, T: Floats) -> str:
    """Describe the transform of a handle, with copy buttons."""
    wxyz = np.array(Rotation.from_matrix(T[:3, :3]).wxyz)
    place = ", ".join(f"{x:.4f}" for x in T[:3, 3])
    turn = ", ".join(f"{math.degrees(x):.1f}" for x in find_rpy(T[:3, :3]))
    quaternion = ", ".join(f"{x:.4f}" for x in wxyz)
    return (
        "<div style='font-size:12px;padding:2px 10px;line-height:1.6;font-variant-numeric:tabular-nums'>"
        f"<b>{html.escape(name)}</b> is at ({place}) m<br>roll, pitch, yaw ({turn})&deg;<br>wxyz ({quaternion})<br>"
        f"{make_copy('Copy place', format_q(T[:3, 3]))}{make_copy('Copy transform', format_transform(T))}</div>"
    )


def describe_pose(dials: tuple[Dial, ...], values: Floats, q: Floats) -> str:
    """Describe all coordinates, in radians and degrees, with a button that copies q."""
    rows = "".join(
        f"<tr><td>{html.escape(dial.name)}</td><td style='text-align:right'>{value:.4f}</td>"
        f"<td style='text-align:right'>{dial.unit if dial.slides else f'{math.degrees(value):.1f}&deg;'}</td></tr>"
        for dial, value in zip(dials, values.tolist(), strict=True)
    )
    table = f"<table style='width:100%;font-size:12px;font-variant-numeric:tabular-nums'>{rows}</table>"
    return (
        "<div style='font-size:12px;padding:4px 10px'>"
        f"{make_copy('Copy q', format_q(q))} {len(q)} numbers"
        f"<details style='margin-top:4px'><summary style='cursor:pointer'>All of them, radians and degrees</summary>"
        f"<div style='max-height:220px;overflow:auto'>{table}</div></details></div>"
    )

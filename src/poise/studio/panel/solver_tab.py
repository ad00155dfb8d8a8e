"""The solver tab: the method, its settings, limits, steps and stiffness; all can change during a drag."""

from dataclasses import fields, replace
from typing import Any

from poise.errors import PoiseError
from poise.methods import Method, find_method, names
from poise.methods.ccd import ORDERS
from poise.studio.markup import PLAIN, fill
from poise.studio.session import Session
from poise.studio.settings import list_movable

__all__ = ["SolverTab"]

HANDLING = {
    "inside the solve": "active",
    "freeze and solve again": "freeze",
    "penalty": "penalty",
    "clamp": "clamp",
    "off": "off",
}
HIDDEN_SETTINGS = {"stall_steps", "stall_ratio"}  # settings that dragging never needs
CHOICES = {"order": ORDERS}


class SolverTab:
    """The tab of the method; created within its tab."""

    def __init__(self, session: Session) -> None:
        self.session = session
        gui: Any = session.server.gui
        self.method = gui.add_dropdown("Method", names(), hint="auto is Levenberg-Marquardt with strict priorities")
        self.about = gui.add_html(quote_method(find_method("auto")))
        self.place = gui.add_folder("Its settings")
        self.inputs: list[Any] = []
        with gui.add_folder("Limits and steps"):
            self.handling = gui.add_dropdown("Limits", tuple(HANDLING), hint="How joint ranges are kept")
            self.clearance = gui.add_checkbox("Parts do not touch", False, hint="Keep the body's own parts apart")
            self.step = gui.add_slider("Step limit", 0.01, 1.0, 0.01, 0.2, hint="Most radians of a joint in a frame")
        with gui.add_folder("The body as a whole"):
            self.balance = gui.add_checkbox("Balance", True, hint="Centre of mass over the pinned feet")
            self.gaze = gui.add_checkbox("Eyes follow the hand", True)
        with gui.add_folder("Stiffness", expand_by_default=False):
            self.joint = gui.add_dropdown("Joint", list_movable(session.model))
            self.stiffness = gui.add_number("Stiffness", 0.0, min=0.0, max=1000.0, step=0.5, hint="More moves less")
        self.show_settings(find_method("auto"))
        self.method.on_update(self.on_method)
        for thing in (self.handling, self.clearance, self.step, self.balance, self.gaze):
            thing.on_update(lambda event: self.apply() if event.client is not None else None)
        self.joint.on_update(lambda _: self.show_stiffness())
        self.stiffness.on_update(self.on_stiffness)
        self.show_stiffness()

    def on_method(self, event: Any) -> None:
        """Use another method, with its own settings."""
        method = find_method(self.method.value)
        with self.session.lock:  # another viewer may choose one at the same time
            self.about.content = quote_method(method)
            self.show_settings(method)
        self.session.puppet.change(method=method)
        self.session.touch()

    def show_settings(self, method: Method) -> None:
        """Add an input for each setting of the method."""
        for thing in self.inputs:
            thing.remove()
        self.inputs = []
        gui = self.session.server.gui
        with self.place:
            for field in fields(method):
                made = (
                    add_setting(gui, field.name, getattr(method, field.name))
                    if field.name not in HIDDEN_SETTINGS
                    else None
                )
                if made is not None:
                    made.on_update(lambda _, key=field.name, thing=made: self.on_setting(key, thing.value))
                    self.inputs.append(made)
        self.place.visible = bool(self.inputs)

    def on_setting(self, key: str, value: Any) -> None:
        """Change one setting of the method."""
        puppet = self.session.puppet
        try:
            puppet.change(method=replace(puppet.settings.method, **{key: value}))
        except (PoiseError, TypeError):
            return  # an incomplete number
        self.session.touch()

    def apply(self) -> None:
        """Apply the settings that all methods share."""
        self.session.puppet.change(
            limit_handling=HANDLING[self.handling.value],
            clearance=self.clearance.value,
            step_limit=self.step.value,
            balance=self.balance.value,
        )
        self.session.puppet.gaze = self.gaze.value
        self.session.touch()

    def show_stiffness(self) -> None:
        """Show the stiffness of the chosen joint."""
        joint = self.session.model.joint(self.joint.value)
        known = self.session.puppet.settings.stiffness
        self.stiffness.value = float(known.get(joint.name, max([float(s) for s in read_stiffness(joint)], default=0.0)))

    def on_stiffness(self, event: Any) -> None:
        """Set the stiffness of the chosen joint."""
        if event.client is None:
            return
        puppet = self.session.puppet
        puppet.change(stiffness={**puppet.settings.stiffness, self.joint.value: float(self.stiffness.value)})
        self.session.touch()

    def change_body(self) -> None:
        """Update the joints for another body; the settings are kept."""
        self.joint.options = list_movable(self.session.model)
        self.session.puppet.change(method=find_method(self.method.value))
        self.apply()
        self.show_stiffness()


def read_stiffness(joint: Any) -> list[float]:
    """Return the stiffness of a joint's coordinates in the model."""
    value = getattr(joint, "stiffness", 0.0)
    return [float(v) for v in (value if hasattr(value, "__iter__") else [value])]


def add_setting(gui: Any, name: str, value: Any) -> Any:
    """Add an input for one setting; return None if its type is not supported."""
    label = name.replace("_", " ")
    if name in CHOICES:
        return gui.add_dropdown(label, CHOICES[name], initial_value=value)
    if isinstance(value, bool):
        return gui.add_checkbox(label, value)
    if name == "damping":
        return gui.add_slider(label, 0.001, 1.0, 0.001, value)
    if isinstance(value, int):
        return gui.add_number(label, value, min=0, step=1)
    if isinstance(value, float):
        return gui.add_number(label, value, min=0.0, step=10.0 ** -(2 if value >= 0.01 else 7))
    return None


def quote_method(method: Method) -> str:
    """Return the first sentence of a method's documentation."""
    import sys

    text = (sys.modules[type(method).__module__].__doc__ or "").strip().splitlines()[0]
    return fill(PLAIN.format("<i>{}</i>"), text)

"""Limbs: which a body has, and soft stretch along a path."""

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from poise.goals import Reach
from poise.methods import TwoBone
from poise.methods.two_bone import TURNS, _find_limb
from poise.model import Joint, Model, ModelBuilder

MOST_BEYOND = 6
TURNING = {"revolute": 1, "continuous": 1, "universal": 2, "euler": 3, "ball": 3}


def find_limb_by_hand(model: Model, frame: str) -> list[str] | None:
    """Return the outermost limb as it is defined: a hinge on a ball, or on three hinges through one point."""
    turns: list[tuple[Joint, str, np.ndarray]] = []
    for joint in (joint for joint in model.joints_above(frame) if joint.v.stop > joint.v.start):
        if joint.kind not in TURNS or joint.mimic:
            break
        kind = "ball" if joint.kind == "ball" else "hinge"
        center = np.asarray(model.fk(model.rest, joint.frame))[:3, 3]
        turns += [(joint, kind, center)] * (1 if kind == "ball" else TURNING[joint.kind])
    near = 1e-9 * model.length
    for i, (joint, kind, center) in enumerate(turns[:-1]):
        shoulder = turns[i + 1]
        same = [t for t in turns[i + 1 : i + 4] if np.linalg.norm(t[2] - shoulder[2]) < near]
        if kind != "hinge" or np.linalg.norm(center - shoulder[2]) < near or i > MOST_BEYOND:
            continue
        if shoulder[1] == "ball":
            same = [shoulder]
        elif len(same) < 3 or any(t[1] != "hinge" for t in same):
            continue
        return list(dict.fromkeys([*(t[0].name for t in turns[:i]), joint.name, *(t[0].name for t in same)]))
    return None


def draw_chain(rng: np.random.Generator) -> Model:
    """Return a chain of random joints, many of which share a centre."""
    builder, parent = ModelBuilder("chain"), None
    for k in range(int(rng.integers(2, 9))):
        kind = str(rng.choice(["revolute", "revolute", "revolute", "universal", "ball", "prismatic"]))
        offset = (0.0, 0.0, 0.0) if rng.random() < 0.45 else tuple(rng.normal(size=3))
        follows = {"mimic": ("j0", 0.5, 0.0)} if k and kind == "revolute" and rng.random() < 0.08 else {}
        if follows and find_first_kind(builder) != "revolute":
            follows = {}
        axis = {} if kind in {"ball", "universal"} else {"axis": rng.normal(size=3)}
        builder.add_joint(f"j{k}", parent, kind, offset=offset, **axis, **follows)
        parent = f"j{k}"
    return builder.add_frame("tip", parent, (0.3, 0.0, 0.1)).build()


def find_first_kind(builder: ModelBuilder) -> str:
    """Return the kind of the first joint of a chain."""
    return str(builder.build().joints[0].kind)


@pytest.mark.slow
def test_the_kernels_limb_is_the_defined_one() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(300):
        model = draw_chain(rng)
        limb = _find_limb(model, "tip", np.ones(model.nv, dtype=bool))
        assert limb == find_limb_by_hand(model, "tip")
        found += limb is not None
    assert 30 <= found <= 270


@pytest.mark.parametrize("name", ["humanoid", "panda", "iiwa14", "quadruped"])
def test_limbs_of_built_in_bodies(name: str) -> None:
    model = poise.load(name)
    for frame in model.frames:
        assert _find_limb(model, frame, np.ones(model.nv, dtype=bool)) == find_limb_by_hand(model, frame)


# ------------------ Soft stretch along a path: the elbow opens and closes steadily, whatever pose the solve starts from


OUT = np.linspace(0.3, 0.75, 46)  # metres from the shoulder, 1 cm a frame; the arm is 0.64 m long
WAYS = [(0.5, -0.2, 1.0), (1.0, -0.3, 0.3), (0.2, -1.0, 0.5)]


def bend_elbow(way: tuple[float, ...], soften: float, *, warm: bool) -> NDArray[np.float64]:
    """The elbow's angle out along a line from the shoulder, and back."""
    model = poise.load("humanoid")
    shoulder = model.fk(model.rest, "shoulder_l")[:3, 3]
    joints = ["shoulder_l", "elbow_l"]
    solver = poise.Solver(model, [Reach("hand_l", shoulder)], method=TwoBone(soften=soften), joints=joints, restarts=0)
    along, at, q, out = np.array(way) / np.linalg.norm(way), model.joint("elbow_l").q, np.array(model.rest), []
    for distance in (*OUT, *OUT[::-1]):
        found = solver.solve(q if warm else model.rest, {"hand_l": shoulder + distance * along}).q
        q = found if warm else q
        out.append(float(found[at][0]))
    return np.array(out)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("soften", [0.7, 0.9])
def test_the_elbow_goes_steadily(way: tuple[float, ...], soften: float) -> None:
    warm = bend_elbow(way, soften, warm=True)
    out, back = np.diff(warm[: len(OUT)]), np.diff(warm[len(OUT) :])
    assert (out > 0.0).all()  # it opens all the way, and never sticks
    assert (back < 0.0).all()
    assert np.abs(np.diff(warm)).max() < 0.1
    np.testing.assert_allclose(warm, bend_elbow(way, soften, warm=False), atol=1e-9)
    np.testing.assert_allclose(warm, warm[::-1], atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_without_softening_it_is_the_same_from_every_start(way: tuple[float, ...]) -> None:
    np.testing.assert_allclose(bend_elbow(way, 1.0, warm=True), bend_elbow(way, 1.0, warm=False), atol=1e-3)

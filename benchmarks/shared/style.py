"""Poses completed by a style, on motions outside its training data: Bandai-Namco Research Motiondataset 1.

DIR contains dataset-1_*.bvh (BandaiNamcoResearchInc/Bandai-Namco-Research-Motiondataset, CC BY-NC: fetch it yourself).
The style is fitted to frames of 6 styles x 5 actions and tested on frames of 4 other styles. The hips are given, and
the hands, feet and head (or hands and head alone). Prints the errors of the positions and rotations of all other
joints, for different postures in the remaining freedom, and the CPU time of a solve. With `--validate` each of the
6 styles in turn is completed from the other 5, with different numbers of neighbours: choose constants by that, never
by the test styles.
"""

import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from shared.command import Table

import poise
from poise.arrays import Floats
from poise.goals import Reach, Rest, Style
from poise.goals.postures.gaussian import Gaussian
from poise.goals.postures.pose_targets import PoseTargets

ACTIONS = ("bow", "bye", "guide", "run", "walk")
STYLES = ("giant", "happy", "normal", "old", "proud", "tired")
OTHERS = ("active", "angry", "childish", "chimpira")
ENDS = ("Hand_L", "Hand_R", "Foot_L", "Foot_R", "Head")
ASKED = {"five effectors": ENDS, "three effectors": ("Hand_L", "Hand_R", "Head")}
CLUSTERS = 12
COLUMNS = ("not asked mm:12.1f", "can move mm:12.1f", "rotations deg:12.1f")


def read_clips(data: Path, styles: Sequence[str]) -> list[poise.Motion]:
    """Return the first clip of every action in every style, all of one body."""
    out: list[poise.Motion] = []
    for style in styles:
        for action in ACTIONS:
            clip = poise.load_motion(data / f"dataset-1_{action}_{style}_001.bvh", scale=0.01)
            model = out[0].model if out else lock_bones(clip)
            columns = [k for j in model.joints if j.nv for k in np.arange(clip.model.nq)[clip.model.joint(j.name).q]]
            out.append(poise.Motion(model, clip.q[:, columns], fps=clip.fps))
    return out


def lock_bones(clip: poise.Motion) -> poise.Model:
    """Return the body of a clip without the channels of bone lengths; the hips carry it."""
    model = clip.model
    slides = [joint for joint in model.joints if joint.nv and joint.name.endswith("_position")]
    still = {joint.name: clip.q[0, joint.q] for joint in slides if joint.name != "Hips_position"}
    return model.locked({**still, "joint_Root": clip.q[0, model.joint("joint_Root").q]})


@dataclass(frozen=True, eq=False)
class Mixture(Style):
    """A mixture of Gaussians instead of local ones: that of the cluster nearest to the targets."""

    _: KW_ONLY
    clusters: int = CLUSTERS

    def find_likely(self, model: poise.Model, asked: PoseTargets, q: Floats) -> tuple[Gaussian, Floats]:
        """See Style.find_likely."""
        frames = self.parts[0][1]
        label = gather_clusters(frames.x, self.clusters)
        nearest = frames.find_near(asked, q, 1)[0]
        inside = np.flatnonzero(label == label[nearest])
        return frames.make_gaussian(inside, np.zeros(len(inside))), frames.carry_frames(nearest, q)[0]


CLUSTERED: dict[tuple[int, int], NDArray[np.int64]] = {}


def gather_clusters(x: Floats, many: int) -> NDArray[np.int64]:
    """Return the cluster of every row by k-means (Lloyd), the first centres spread by their distance."""
    key = (len(x), many)
    if key in CLUSTERED:
        return CLUSTERED[key]
    rng = np.random.default_rng(0)
    centers = x[rng.integers(len(x))][None]
    while len(centers) < many:
        far = np.min(((x[:, None] - centers) ** 2).sum(axis=2), axis=1)
        centers = np.vstack([centers, x[rng.choice(len(x), p=far / far.sum())]])
    for _ in range(30):
        label = np.argmin(((x[:, None] - centers) ** 2).sum(axis=2), axis=1)
        centers = np.array([x[label == k].mean(axis=0) if (label == k).any() else centers[k] for k in range(many)])
    CLUSTERED[key] = label
    return label


class Judge:
    """Compares poses with the truth, by forward kinematics of the joints without targets."""

    def __init__(self, model: poise.Model, asked: Sequence[str]) -> None:
        turning = [joint.frame for joint in model.joints if joint.kind == "euler" and not joint.locked]
        self.model = model
        self.bones = [frame for frame in turning if frame != "Hips"]
        self.others = [frame for frame in self.bones if frame not in asked]
        self.moving = [frame for frame in self.others if not frame.startswith("UpperLeg")]  # those the hips carry

    def measure(self, q: Floats, truth: Floats) -> tuple[float, float, float]:
        """Return the mean errors: of positions [mm], of those of joints that can move, and of rotations [degrees]."""
        away = {f: 1e3 * np.linalg.norm(self.place(q, f) - self.place(truth, f)) for f in self.others}
        turns = [self.turn(q, frame).T @ self.turn(truth, frame) for frame in self.bones]
        angles = [np.degrees(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0))) for R in turns]
        moving = [away[frame] for frame in self.moving]
        return float(np.mean(list(away.values()))), float(np.mean(moving)), float(np.mean(angles))

    def place(self, q: Floats, frame: str) -> Floats:
        """Return the position of a frame."""
        return np.asarray(self.model.fk(q, frame)[:3, 3])

    def turn(self, q: Floats, frame: str) -> Floats:
        """Return a joint's rotation in the axes of its parent joint."""
        parent = self.model.joint(self.model.frame(frame).joint).parent
        return np.asarray(self.model.fk(q, parent)[:3, :3].T @ self.model.fk(q, frame)[:3, :3])


def make_goals(model: poise.Model, truth: Floats, asked: Sequence[str]) -> list[Reach]:
    """Return the goals of a frame: the positions of the effectors."""
    return [Reach(frame, model.fk(truth, frame)[:3, 3]) for frame in asked]


def measure(model: poise.Model, tests: Floats, asked: Sequence[str], posture: Rest) -> tuple[Floats, int, float]:
    """Return the mean errors over the frames, the number that reached their goals, and the CPU time of a solve [us]."""
    judge, errors, reached, spent = Judge(model, asked), [], 0, 0.0
    hips = [model.joint(name) for name in ("Hips_position", "Hips")]
    moves = [joint.name for joint in model.joints if joint.nv and not joint.locked and joint not in hips]
    solver = poise.Solver(model, [*make_goals(model, tests[0], asked), posture], joints=moves)
    for truth in tests:
        start = posture.find_wanted(model)
        for joint in hips:
            start[joint.q] = truth[joint.q]
        targets = {str(goal.frame): goal.target for goal in make_goals(model, truth, asked)}
        began = time.process_time()
        solution = solver.solve(start, targets)
        spent += time.process_time() - began
        reached += solution.reached
        errors.append(judge.measure(solution.q, truth))
    return np.mean(errors, axis=0), reached, 1e6 * spent / len(tests)


def validate(clips: Sequence[poise.Motion], stride: int) -> None:
    """Print the errors of each style completed from all the others, by the number of neighbours."""
    model, n = clips[0].model, len(ACTIONS)
    table = Table("neighbours:12", *COLUMNS, "CPU us:12.0f")
    for neighbours in (15, 30, 60, 120, 240):
        found = []
        for k in range(len(STYLES)):
            own, others = clips[n * k : n * (k + 1)], [*clips[: n * k], *clips[n * (k + 1) :]]
            style = Style.fit([poise.Motion(model, clip.q[::2]) for clip in others], neighbours=neighbours)
            errors, _, micros = measure(model, np.concatenate([clip.q[::stride] for clip in own]), ENDS, style)
            found.append((*errors, micros))
        table.add(str(neighbours), *np.mean(found, axis=0))


def complete_poses(given: Namespace) -> None:
    """Print the tables."""
    if given.validate:
        validate(read_clips(given.data, STYLES), given.stride)
        return
    clips = read_clips(given.data, (*STYLES, *given.styles))
    model, many = clips[0].model, len(STYLES) * len(ACTIONS)
    tests = np.concatenate([clip.q[:: given.stride] for clip in clips[many:]])
    clips = [poise.Motion(model, clip.q[::2], fps=clip.fps / 2) for clip in clips[:many]]
    began = time.process_time()
    style = Style.fit(clips)
    fitted = time.process_time() - began
    print(f"{len(style)} frames, fitted in {fitted:.3f} s; {len(tests)} frames of {', '.join(given.styles)}")
    postures = {
        "Rest(bind pose)": Rest(),
        "Rest(mean of the clips)": Rest(style.find_wanted(model)),
        "one Gaussian": Mixture(parts=style.parts, clusters=1),
        f"mixture of {CLUSTERS}": Mixture(parts=style.parts),
        "Style (60 nearest)": style,
    }
    for name, asked in ASKED.items():
        print()
        table = Table(f"{name}:26", *COLUMNS, "reached:10", "CPU us:12.0f")
        for what, posture in postures.items():
            errors, reached, micros = measure(model, tests, asked, posture)
            table.add(what, *errors, f"{reached}/{len(tests)}", micros)

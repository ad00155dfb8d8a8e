"""Bodies with random inertias and drives, and URDFs of them that Poise did not write."""

from dataclasses import replace
from typing import Any

import numpy as np

import poise
from bodies import random_model, random_transform
from poise.model.spec import DRIVE, JointSpec

URDF_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Return an inertia that a solid can have: a cloud of points, about its centre."""
    points = rng.normal(size=(9, 3)) * rng.uniform(0.02, 0.3, 3)
    points -= points.mean(axis=0)
    return np.asarray((points**2).sum() * np.eye(3) - points.T @ points)


def drive_randomly(seed: int, **options: Any) -> poise.Model:
    """Return a random body whose parts all have an inertia, and whose joints have a drive, some of them in part."""
    model, rng = random_model(seed, **options), np.random.default_rng(seed)
    specs = []
    for spec in model.layout.specs:
        drive = {
            key: float(rng.uniform(0.1, 9.0)) for key in DRIVE if isinstance(spec, JointSpec) and rng.random() < 0.8
        }
        drive = {} if isinstance(spec, JointSpec) and spec.kind == "fixed" else drive
        mass, center = float(rng.uniform(0.1, 5.0)), rng.normal(size=3)
        values: dict[str, Any] = {"mass": mass, "center": center, "inertia": random_inertia(rng), **drive}
        specs.append(replace(spec, **values))
    return poise.Model(model.name, specs)


def write_urdf(seed: int, kinds: tuple[str, ...] = URDF_KINDS) -> str:
    """Return a URDF with inertial frames that are turned, and a joint of every kind, some with a drive."""
    rng = np.random.default_rng(seed)
    parts = [write_link("link0", rng)]
    for i, kind in enumerate(rng.permutation(np.repeat(kinds, 2)), 1):
        numbers = {key: f"{rng.uniform(0.1, 50.0):.17g}" for key in ("effort", "velocity", "damping", "friction")}
        ends = 'lower="-0.7" upper="1.3" ' if kind in ("revolute", "prismatic") else ""
        limit = f'<limit {ends}effort="{numbers["effort"]}" velocity="{numbers["velocity"]}"/>'
        loss = f'<dynamics damping="{numbers["damping"]}" friction="{numbers["friction"]}"/>'
        kept = "" if kind in ("fixed", "floating", "planar") else (limit if ends or rng.random() < 0.5 else "") + loss
        parts += [write_link(f"link{i}", rng), f'<joint name="joint{i}" type="{kind}">{write_origin(rng)}{kept}']
        parts += [f'<parent link="link{rng.integers(i)}"/><child link="link{i}"/><axis xyz="0 0 1"/></joint>']
    return f'<robot name="driven">{"".join(parts)}</robot>'


def write_link(name: str, rng: np.random.Generator) -> str:
    """Return a link with a random inertial element."""
    matrix = random_inertia(rng)
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{key}="{x:.17g}"' for key, x in zip(keys, matrix[np.triu_indices(3)], strict=True))
    inside = f'{write_origin(rng)}<mass value="{rng.uniform(0.1, 5.0):.17g}"/><inertia {moments}/>'
    return f'<link name="{name}"><inertial>{inside}</inertial></link>'


def write_origin(rng: np.random.Generator) -> str:
    """Return a random origin."""
    xyz, rpy = random_transform(rng)[:3, 3], rng.uniform(-1.4, 1.4, 3)
    return f'<origin xyz="{" ".join(map(str, xyz))}" rpy="{" ".join(map(str, rpy))}"/>'

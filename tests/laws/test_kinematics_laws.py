"""Laws of kinematics, over random trees that mix every joint kind, Euler order and mimicry.

A curve is made of cubic pieces: inside a piece it is smooth, from one to the next its second derivative jumps. So what
is compared with differences stands in the middle of a piece, and the differences are less exact.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bodies import ALL_KINDS, EULER_ORDERS, EVERY_KIND, GIVEN_KINDS, GROWING_KINDS, models, random_model
from operations import (
    OPERATIONS,
    REFERENCES,
    Case,
    Floats,
    close,
    difference_quotient,
    numeric_jacobian,
    values_for,
    without_mimics,
)
from poise import Transform, textbook

SEEDS = st.integers(0, 2**32 - 1)
SPECIAL = (0.0, 1e-12, -1e-9, 1e-5, np.pi / 2, -np.pi / 2, np.pi, -np.pi, 2 * np.pi, 1e3)


def draw_cases(shape: tuple[int, ...] = (), kinds: tuple[str, ...] = ALL_KINDS) -> st.SearchStrategy[Case]:
    return st.builds(Case.of, models(kinds=kinds), SEEDS, st.just(shape))


def stand_on_pieces(case: Case) -> Case:
    """Return the case with every path in the middle of one of its longest pieces, which differences do not leave."""
    q, v, rng = np.array(case.q), np.array(case.v), np.random.default_rng(case.model.nv)
    for joint in (joint for joint in case.model.joints if joint.path is not None and joint.nq):
        start = joint.path.pieces[:, 0]
        steps = np.diff(start, append=joint.path.length)
        k = int(rng.choice(np.flatnonzero(steps >= 0.5 * steps.max())))
        q[joint.q], v[joint.v] = start[k] + 0.5 * steps[k], 0.2 * v[joint.v]
    return replace(case, q=q, v=v)


# The bodies of the laws about derivatives, with the tolerances of first and of second derivatives. Frames of growing
# bodies stay rigid: `uniform_scale` scales the offsets.
ALL_AND_GROWING = (*EVERY_KIND, *GROWING_KINDS, *GROWING_KINDS)
CURVED = draw_cases(kinds=(*GIVEN_KINDS, "revolute", "ball")) | draw_cases(kinds=ALL_AND_GROWING)
FAMILIES = {"rigid": (draw_cases(), 1e-9, 1e-9), "every kind": (CURVED, 2e-8, 1e-6)}
of_each_family = pytest.mark.parametrize("family", FAMILIES)


def draw_case(data: st.DataObject, family: str) -> tuple[Case, float, float]:
    """Draw a case, and return it with the two tolerances of its family."""
    cases, first, second = FAMILIES[family]
    return stand_on_pieces(data.draw(cases)), first, second


# ------------------------------------------------------------------------------------------------ derivatives


@pytest.mark.slow
@pytest.mark.parametrize("reference", REFERENCES)
@of_each_family
@settings(max_examples=40)
@given(data=st.data())
def test_jacobian_is_the_derivative_of_fk(data: st.DataObject, family: str, reference: str) -> None:
    case, tolerance, _ = draw_case(data, family)
    close(OPERATIONS[f"jacobian {reference}"](case), numeric_jacobian(case, reference), tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("reference", REFERENCES)
@of_each_family
@settings(max_examples=40)
@given(data=st.data())
def test_jacobian_dot_is_the_derivative_along_a_motion(data: st.DataObject, family: str, reference: str) -> None:
    case, _, tolerance = draw_case(data, family)

    def jacobian(q: Floats) -> Floats:
        return case.model.jacobian(q, case.frame, point=case.point, reference=reference)

    rate = difference_quotient(case.model, case.q, case.v, jacobian)
    close(OPERATIONS[f"jacobian_dot {reference}"](case), rate, tolerance)


@pytest.mark.slow
@of_each_family
@settings(max_examples=40)
@given(data=st.data())
def test_hessian_is_the_derivative_of_the_world_jacobian(data: st.DataObject, family: str) -> None:
    case, _, tolerance = draw_case(data, family)
    model, q, frame = case.model, case.q, case.frame
    columns = difference_quotient(model, q, np.eye(model.nv), lambda q: model.jacobian(q, frame))
    hessian = model.hessian(q, frame)
    close(hessian, np.moveaxis(columns, 0, -1), tolerance)
    close(hessian @ case.v, model.jacobian_dot(q, case.v, frame), 1e-3 * tolerance)


@pytest.mark.slow
@of_each_family
@settings(max_examples=40)
@given(data=st.data())
def test_jacobian_of_the_center_of_mass_is_its_derivative(data: st.DataObject, family: str) -> None:
    case, tolerance, _ = draw_case(data, family)
    model, q = case.model, case.q
    columns = difference_quotient(model, q, np.eye(model.nv), model.center_of_mass)
    close(model.center_of_mass_jacobian(q), columns.T, tolerance)


@pytest.mark.slow
@settings(max_examples=40)
@given(case=draw_cases())
def test_center_of_mass_is_the_sum_over_frames(case: Case) -> None:
    model, q = case.model, case.q
    frames = [model.frame(name) for name in model.frames]
    moments = [f.mass * Transform.from_matrix(T).apply(f.center) for f, T in zip(frames, model.fk(q), strict=True)]
    close(model.mass, sum(f.mass for f in frames), 1e-13)
    close(model.center_of_mass(q), np.sum(moments, axis=0) / model.mass, 1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(case=draw_cases())
def test_references_differ_by_adjoints(case: Case) -> None:
    model, q, frame, point = case.model, case.q, case.frame, case.point
    body = model.jacobian(q, frame, point=point, reference="body")
    place = Transform.from_matrix(model.fk(q, frame)) @ Transform.from_translation(point)
    close(model.jacobian(q, frame, point=point, reference="spatial"), place.adjoint() @ body, 1e-12)
    close(model.jacobian(q, frame, point=point), Transform.from_rotation(place.rotation).adjoint() @ body, 1e-12)
    # the spatial twist is that of the whole body, whatever the point
    close(model.jacobian(q, frame, reference="spatial"), place.adjoint() @ body, 1e-12)
    # a point is a frame that is fixed there
    tool = model.with_frame("tool", frame, point)
    close(tool.jacobian(q, "tool"), model.jacobian(q, frame, point=point), 1e-13)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_orders(order: str) -> None:
    builder = poise.ModelBuilder().add_joint("base", None, "free").add_joint("j", "base", "euler", order=order)
    case = Case.of(builder.build(), 1)
    turns = [
        Transform.exp([0, 0, 0, *(a * np.eye(3)["XYZ".index(axis)])]).matrix
        for axis, a in zip(order, case.q[7:], strict=True)
    ]
    close(case.model.fk(case.q, "j"), case.model.fk(case.q, "base") @ turns[0] @ turns[1] @ turns[2], 1e-14)
    for reference in REFERENCES:
        close(OPERATIONS[f"jacobian {reference}"](case), numeric_jacobian(case, reference), 1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("angle", SPECIAL)
def test_jacobian_at_special_angles(angle: float, seed: int) -> None:
    case = Case.of(random_model(seed), seed)
    plain = np.concatenate([np.arange(j.q.start, j.q.stop) for j in case.model.joints if j.nq == j.nv and j.nq])
    case.q[plain.astype(int)] = angle
    close(case.model.fk(case.q, case.frame), textbook.forward_kinematics(case.model, case.q, case.frame), 1e-12)
    body = case.model.jacobian(case.q, case.frame, reference="body")
    close(body, textbook.adjusted_jacobian(case.model, case.q, case.frame), 1e-12)


# ------------------------------------------------------------------------------------------------ the manifold


@given(model=models(), seed=SEEDS)
def test_difference_undoes_integrate(model: poise.Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q0, q1, step = model.random(rng), model.random(rng), rng.normal(size=model.nv)
    for j in model.joints:
        if j.nq != j.nv and not j.mimic:
            turn = step[j.v][-3:]
            turn *= rng.uniform(0, 0.999 * np.pi) / np.linalg.norm(turn)
    close(model.difference(q0, model.integrate(q0, step)), step, 1e-11)
    close(model.fk(model.integrate(q0, model.difference(q0, q1))), model.fk(q1), 1e-11)


@pytest.mark.parametrize("kind", ["ball", "free"])
@pytest.mark.parametrize(
    "angle", [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-3, 1.0, 3.0, 3.14159, np.pi - 1e-9, np.pi]
)
def test_quaternion_steps_of_every_size(kind: str, angle: float) -> None:
    model = poise.ModelBuilder().add_joint("j", None, kind, offset=(1, 2, 3)).build()
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, step = model.random(rng), rng.normal(size=model.nv)
        step[-3:] *= angle / np.linalg.norm(step[-3:])
        there = model.integrate(q, step)
        assert abs(np.linalg.norm(there[-4:]) - 1.0) < 1e-15 * 4
        back = model.difference(q, there)
        if angle == np.pi:  # half a turn has two ways
            back[-3:] *= np.sign(back[-3:] @ step[-3:])
        np.testing.assert_allclose(back, step, rtol=0, atol=1e-14 + (1e-6 if angle > 3.14 else 0.0))
        np.testing.assert_allclose(np.linalg.norm(back[-3:]), angle, rtol=1e-12, atol=1e-15)
        close(model.fk(model.integrate(q, model.difference(q, there)), "j"), model.fk(there, "j"), 1e-14)


@given(angle=st.floats(3.2, 50.0), seed=SEEDS)
def test_difference_goes_the_shorter_way(angle: float, seed: int) -> None:
    model = poise.ModelBuilder().add_joint("j", None, "ball").build()
    rng = np.random.default_rng(seed)
    q, step = model.random(rng), rng.normal(size=3)
    step *= angle / np.linalg.norm(step)
    there = model.integrate(q, step)
    way = model.difference(q, there)
    assert np.linalg.norm(way) <= np.pi + 1e-12
    close(model.fk(model.integrate(q, way), "j"), model.fk(there, "j"), 1e-12)
    close(model.difference(q, -there), way, 1e-12)  # both signs are the same turn


@pytest.mark.slow
@given(case=draw_cases(shape=(3,)))
def test_clamp(case: Case) -> None:
    model, wild = case.model, case.q + 2.0 * case.model.integrate(case.q, case.v)
    tame = model.clamp(wild)
    close(model.clamp(tame), tame, 1e-15)
    for j in model.joints:
        if j.nq != j.nv:
            np.testing.assert_allclose(np.linalg.norm(tame[..., j.q][..., -4:], axis=-1), 1.0, rtol=1e-14)
        elif j.nv:
            nearest = np.clip(wild[..., j.q], model.lower[j.v], model.upper[j.v])
            np.testing.assert_array_equal(tame[..., j.q], nearest)


@pytest.mark.slow
@given(model=models(), seed=SEEDS)
def test_random_is_inside_and_repeats(model: poise.Model, seed: int) -> None:
    q = model.random(np.random.default_rng(seed), (2, 25))
    assert q.shape == (2, 25, model.nq)
    np.testing.assert_array_equal(q, model.random(np.random.default_rng(seed), (2, 25)))
    close(model.clamp(q), q, 1e-15)
    np.testing.assert_array_equal(model.clamp(model.rest), model.rest)
    for j in model.joints:
        if j.nv and j.nq == j.nv:
            assert (model.lower[j.v] <= q[..., j.q]).all()
            assert (q[..., j.q] <= model.upper[j.v]).all()
        if j.mimic:  # what a follower is pulled to is inside its own range
            value = j.mimic.ratio * q[..., j.q] + j.mimic.offset
            slack = 1e-12 * (1 + np.abs(value).max())
            assert (j.lower - slack <= value).all()
            assert (value <= j.upper + slack).all()


# ------------------------------------------------------------------------------------------------ batches and widths


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_batch_is_its_rows(operation: str) -> None:
    run = OPERATIONS[operation]
    for size in range(1, 21):
        kinds = (ALL_KINDS, EVERY_KIND, ALL_AND_GROWING)[size % 3]  # many rows run in packs, curves lane by lane
        case = Case.of(random_model(size, joints=9, kinds=kinds), size, (size,))
        rows = run(case)
        for i in range(size):
            close(rows[i], run(case.at(i)), 1e-13 if kinds == ALL_KINDS else 1e-12)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (3, 1, 2), (5, 7), (0,), (0, 3), (3, 0)])
def test_leading_axes_of_any_shape(operation: str, shape: tuple[int, ...]) -> None:
    run = OPERATIONS[operation]
    case = Case.of(random_model(5), 5, shape)
    out, single = run(case), run(Case.of(case.model, 5))
    assert out.shape == shape + single.shape
    assert out.flags["C_CONTIGUOUS"]
    assert out.flags["WRITEABLE"]
    for index in np.ndindex(shape):
        close(out[index], run(case.at(index)), 1e-13)


@pytest.mark.parametrize("operation", ["jacobian_dot world", "integrate"])
def test_leading_axes_broadcast(operation: str) -> None:
    case = Case.of(random_model(8), 8, (4, 3))
    run = OPERATIONS[operation]
    one_q = Case(case.model, case.q[:1, :1], case.v, case.frame, case.point)
    one_v = Case(case.model, case.q, case.v[0], case.frame, case.point)
    for i, k in np.ndindex(4, 3):
        close(run(one_q)[i, k], run(Case(case.model, case.q[0, 0], case.v[i, k], case.frame, case.point)), 1e-13)
        close(run(one_v)[i, k], run(Case(case.model, case.q[i, k], case.v[0, k], case.frame, case.point)), 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("shape", [(), (11,)])
def test_float32_is_float64_rounded(operation: str, shape: tuple[int, ...]) -> None:
    for seed in range(12):
        kinds = ALL_KINDS if seed % 2 else ALL_AND_GROWING
        narrow = Case.of(random_model(seed, kinds=kinds), seed, shape).cast(np.float32)
        out = OPERATIONS[operation](narrow)
        assert out.dtype == np.float32
        close(out, OPERATIONS[operation](narrow.cast(np.float64)), 1e-4)


# ------------------------------------------------------------------------------------------------ the tree


@given(case=draw_cases())
def test_joints_off_the_path_give_exact_zeros(case: Case) -> None:
    off = ~case.on_path
    for reference in REFERENCES:
        assert not OPERATIONS[f"jacobian {reference}"](case)[:, off].any()
        assert not OPERATIONS[f"jacobian_dot {reference}"](case)[:, off].any()
    hessian = case.model.hessian(case.q, case.frame)
    assert not hessian[:, off, :].any()
    assert not hessian[:, :, off].any()


@pytest.mark.slow
@settings(max_examples=60)
@given(case=draw_cases(kinds=("revolute", "prismatic", "screw", "continuous", "ball", "euler")))
def test_a_follower_counts_through_its_leader(case: Case) -> None:
    model, q, frame = case.model, case.q, case.frame
    free, rates = without_mimics(model)
    there = values_for(free, model, q)
    close(model.fk(q), free.fk(there), 1e-12)
    for reference in REFERENCES:
        close(
            model.jacobian(q, frame, reference=reference),
            free.jacobian(there, frame, reference=reference) @ rates,
            1e-12,
        )
        dot = free.jacobian_dot(there, rates @ case.v, frame, reference=reference)
        close(model.jacobian_dot(q, case.v, frame, reference=reference), dot @ rates, 1e-12)
    close(model.hessian(q, frame), np.einsum("rij,ia,jb->rab", free.hessian(there, frame), rates, rates), 1e-12)
    close(model.center_of_mass_jacobian(q), free.center_of_mass_jacobian(there) @ rates, 1e-12)


@pytest.mark.slow
@settings(max_examples=60)
@given(case=draw_cases(), seed=SEEDS)
def test_a_locked_joint_stands_where_it_was(case: Case, seed: int) -> None:
    model, q, frame = case.model, case.q, case.frame
    rng = np.random.default_rng(seed)
    names = [j.name for j in model.joints if not j.mimic and rng.random() < 0.4]
    locked = model.locked({name: q[model.joint(name).q] for name in names})
    assert locked.frames == model.frames
    assert all(locked.joint(name).kind == "fixed" for name in names)
    there = values_for(locked, model, q)
    close(locked.fk(there), model.fk(q), 1e-12)
    close(locked.mass, model.mass, 1e-14)
    kept = np.concatenate(
        [np.arange(0), *(np.arange(j.v.start, j.v.stop) for j in model.joints if j.nv and j.name not in names)]
    )
    close(locked.jacobian(there, frame), model.jacobian(q, frame)[:, kept.astype(int)], 1e-12)
    close(locked.center_of_mass(there), model.center_of_mass(q), 1e-12)


@pytest.mark.slow
@settings(max_examples=60)
@given(case=draw_cases())
def test_a_subtree_is_the_body_seen_from_its_root(case: Case) -> None:
    model, q = case.model, case.q
    part = model.subtree(case.frame)
    root = model.frame(case.frame).name
    for name in model.frames:
        above: str | None = name
        while above not in (None, root):
            above = model.frame(above).parent
        assert (name in part.frames) == (above == root)
    there = values_for(part, model, q)
    seen = np.linalg.inv(model.fk(q, root))
    for name in part.frames:
        close(part.fk(there, name), seen @ model.fk(q, name), 1e-12)


def test_fk_of_a_list_of_frames_is_that_of_each() -> None:
    model = poise.load("humanoid")
    names, q = ["wrist_l", "toe_r", model.frames[3]], model.random(np.random.default_rng(0), (2, 3))
    T = model.fk(q, names)
    assert T.shape == (2, 3, 3, 4, 4)
    for k, name in enumerate(names):
        assert np.array_equal(T[..., k, :, :], model.fk(q, name))
    assert model.fk(q, []).shape == (2, 3, 0, 4, 4)
    with pytest.raises(poise.errors.NameNotFound, match="nowhere"):
        model.fk(q, ["toe_r", "nowhere"])

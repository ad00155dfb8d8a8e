"""Other batch solvers, if installed: for `benchmarks/gpu.py`, whose part `peers` runs them on the CPU too.

pytorch_kinematics: pseudo-inverse steps of all targets and retries together, on the device that PyTorch has.
PyRoki: Levenberg-Marquardt of 64 seeds a target for a few steps, then of the best 4 to the end, as its authors'
benchmark does, on the device that JAX has. HJCD-IK has no package; benchmarks/RESULTS.md quotes a measurement.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from shared.robots import TOLERANCE, Arm, model_of

import poise

ITERATIONS = 30
RETRIES = 10
SEEDS, FEW = (64, 6), (4, 16)  # how many, and for how many steps


def pytorch_kinematics(arm: Arm, targets: Any) -> tuple[float, Any] | None:
    """Seconds for all targets and the best pose of each, (n, joints); None where it is not installed."""
    try:
        import pytorch_kinematics as pk
        import torch
    except ImportError:
        return None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, tool = model_of(arm)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        poise.save(model, path)
        chain = pk.build_serial_chain_from_urdf(path.read_bytes(), tool).to(dtype=torch.float32, device=device)
    limits = torch.tensor(np.stack([arm.lower, arm.upper], axis=1), dtype=torch.float32, device=device)
    solver = pk.PseudoInverseIK(
        chain,
        max_iterations=ITERATIONS,
        num_retries=RETRIES,
        joint_limits=limits,
        pos_tolerance=TOLERANCE[0],
        rot_tolerance=TOLERANCE[1],
        early_stopping_any_converged=True,
        early_stopping_no_improvement="all",
        lr=1.0,
    )
    goal = pk.Transform3d(matrix=torch.tensor(np.asarray(targets), dtype=torch.float32, device=device))
    begun = time.perf_counter()
    found = solver.solve(goal)
    errors = found.err_pos + found.err_rot
    best = found.solutions[torch.arange(len(targets), device=device), errors.argmin(dim=1)].cpu().numpy()
    return time.perf_counter() - begun, best.astype(np.float64)


def pyroki(arm: Arm, targets: Any) -> tuple[float, Any] | None:
    """Seconds for all targets and the best pose of each, (n, joints); None where it is not installed."""
    try:
        import jax
        import jaxlie
        import jaxls
        import pyroki as pk
        import yourdfpy
        from jax import numpy as jnp
    except ImportError:
        return None
    model, tool = model_of(arm)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        poise.save(model, path)
        robot = pk.Robot.from_urdf(yourdfpy.URDF.load(str(path), load_meshes=False))
    link = jnp.array(robot.links.names.index(tool))
    spread = np.random.default_rng(0).uniform(arm.lower, arm.upper, (SEEDS[0], len(arm.rows)))

    def search(pose: Any, seed: Any, steps: int) -> tuple[Any, Any]:
        q = robot.joint_var_cls(0)
        asked = jaxlie.SE3(pose)
        costs = [
            pk.costs.pose_cost_analytic_jac(robot, q, asked, link, pos_weight=50.0, ori_weight=10.0),
            pk.costs.limit_cost(robot, q, weight=100.0),
        ]
        found, summary = (
            jaxls.LeastSquaresProblem(costs, [q])
            .analyze()
            .solve(
                initial_vals=jaxls.VarValues.make([q.with_value(seed)]),
                linear_solver="dense_cholesky",
                termination=jaxls.TerminationConfig(max_iterations=steps, early_termination=False),
                trust_region=jaxls.TrustRegionConfig(lambda_initial=10.0),
                verbose=False,
                return_summary=True,
            )
        )
        return found[q], summary.cost_history[summary.iterations]

    def one(pose: Any) -> Any:
        tried, cost = jax.vmap(lambda seed: search(pose, seed, SEEDS[1]))(jnp.asarray(spread, dtype=jnp.float32))
        best = jnp.argsort(cost)[: FEW[0]]
        found, cost = jax.vmap(lambda seed: search(pose, seed, FEW[1]))(tried[best])
        return found[jnp.argmin(cost)]

    solve = jax.jit(jax.vmap(one))
    poses = jaxlie.SE3.from_matrix(jnp.asarray(targets, dtype=jnp.float32)).wxyz_xyz
    jax.block_until_ready(solve(poses))  # compiles
    begun = time.perf_counter()
    q = np.asarray(jax.block_until_ready(solve(poses)), dtype=np.float64)
    seconds = time.perf_counter() - begun
    order = [robot.joints.actuated_names.index(joint.name) for joint in model.joints if joint.nv]
    return seconds, np.clip(q[:, order], arm.lower, arm.upper)


PEERS = {"pytorch_kinematics": pytorch_kinematics, "pyroki": pyroki}

"""Other solvers of many targets at once, where they are importable: for benchmarks/gpu.py, or on the CPU by themselves.

pytorch_kinematics: pseudo-inverse steps of all targets and retries together, on the device that PyTorch has. PyRoki and
HJCD-IK have no package that installs beside these; docs/batch.md quotes what was measured of them.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from robots import TOLERANCE, Arm, model_of

import poise

ITERATIONS = 30
RETRIES = 10


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


def main() -> None:
    """A hundred targets of the Panda."""
    from gpu import targets_of, verify
    from robots import ARMS

    arm = ARMS["panda"]
    targets = targets_of(arm, 100)
    answer = pytorch_kinematics(arm, targets)
    if answer is None:
        print("pytorch_kinematics is not installed: pip install pytorch_kinematics")
        return
    seconds, q = answer
    print(f"pytorch_kinematics: {len(q) / seconds:.0f} a second, {100 * verify(arm, q, targets).mean():.1f} % verified")


if __name__ == "__main__":
    main()

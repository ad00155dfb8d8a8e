"""The cost of one step of each method, in multiplications.

The table of Rabbani's figure 8, for our kernels: m rows (3 for a point, 6 for a pose), n velocities. Evaluating the
transforms and the Jacobian of the body is common to all Jacobian methods and counted separately, by `count_body`.
"""

__all__ = ["count_body", "count_printed", "count_step"]

SWEEPS = 6  # approximate number of one-sided Jacobi sweeps until the columns are orthogonal


def count_body(rows: int, velocities: int) -> int:
    """Return the cost of the transforms of all joints (about 60 each) and the columns of J (about 3 per row)."""
    return 60 * velocities + 3 * rows * velocities


def count_step(method: str, rows: int, velocities: int) -> int | None:
    """Return the multiplications from J and r to the step, or None for methods without such a count."""
    m, n = rows, velocities
    square = m * n * (m + 1) // 2
    dual = square + m**3 // 6 + m * m + m * n
    svd = SWEEPS * (m * (m - 1) // 2) * 6 * n + 2 * m * n
    counts = {
        "gradient": m * n,
        "transpose": 3 * m * n,
        "inverse": n**3 // 3 + n * n,
        "pseudoinverse": svd,
        "svd": svd,
        "qr": 2 * m * m * n + m * m + m * n,
        "dls": dual,
        "sdls": svd + 6 * m * n,
        "lm": dual,
        "halley": 2 * dual + 9 * m * n,
        "ccd": 60 * n + 40 * n,
        "fabrik": 40 * n,
        "two_bone": 120,
    }
    return counts.get(method)


def count_printed(method: str, rows: int, velocities: int) -> int | None:
    """Return the flops of a step as Rabbani's figure 8 prints them, or None for methods that it does not list."""
    m, n = rows, velocities
    cubes = {"svd": 2 * m * n**2 + 2 * n**3, "qr": 2 * n**3 + 3 * n**2, "pseudoinverse": 16 * m * n**2 + 12 * n**3}
    return {**cubes, "transpose": n**2, "dls": 2 * n**2}.get(method)

"""Correct answers to the exercises of the course, as a student's files, and common mistakes in them."""

__all__ = ["ANSWERS", "SLIPS"]

TURN = """
import numpy as np


def turn(axis, angle):
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return T
"""

ANSWERS = {
    1: TURN
    + """

def forward_kinematics(offsets, axes, angles):
    T = np.eye(4)
    for offset, axis, angle in zip(offsets[:-1], axes, angles):
        T = T @ offset @ turn(axis, angle)
    return T @ offsets[-1]
""",
    2: """
import numpy as np


def jacobian(axes, pivots, tip):
    linear = np.cross(axes, tip - pivots)
    return np.vstack([linear.T, axes.T])
""",
    3: """
import numpy as np


def numeric_jacobian(position, angles, step):
    columns = []
    for move in step * np.eye(len(angles)):
        columns.append((position(angles + move) - position(angles - move)) / (2 * step))
    return np.stack(columns, axis=1)
""",
    4: """
import numpy as np


def transpose_step(jacobian, error):
    step = jacobian.T @ error
    moved = jacobian @ step
    if not moved.any():
        return step
    return step * (error @ moved) / (moved @ moved)
""",
    5: """
import numpy as np


def pseudoinverse(jacobian):
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    keep = s > 1e-9 * s[0]
    return vt[keep].T / s[keep] @ u[:, keep].T
""",
    6: """
import numpy as np


def damped_step(jacobian, error, damping):
    square = jacobian @ jacobian.T + damping**2 * np.eye(len(error))
    return jacobian.T @ np.linalg.solve(square, error)
""",
    7: TURN
    + """

def places(offsets, axes, angles):
    T, pivots, lines = np.eye(4), [], []
    for offset, axis, angle in zip(offsets[:-1], axes, angles):
        T = T @ offset @ turn(axis, angle)
        pivots.append(T[:3, 3])
        lines.append(T[:3, :3] @ axis)
    return pivots, lines, (T @ offsets[-1])[:3, 3]


def ccd_sweep(offsets, axes, angles, goal):
    angles = angles.copy()
    pivots, lines, tip = places(offsets, axes, angles)
    for i in reversed(range(len(angles))):
        pivots, lines, tip = places(offsets, axes, angles)
        a, e, g = lines[i], tip - pivots[i], goal - pivots[i]
        angles[i] += np.arctan2(a @ np.cross(e, g), e @ g - (a @ e) * (a @ g))
    return angles
""",
    8: """
import numpy as np


def find_angles(position, jacobian, angles, goal):
    angles = angles.copy()
    for _ in range(200):
        error = goal - position(angles)
        if np.linalg.norm(error) < 1e-6:
            break
        J = jacobian(angles)
        step = J.T @ np.linalg.solve(J @ J.T + 0.05**2 * np.eye(3), error)
        step *= min(1, 0.2 / np.abs(step).max())
        angles += step
    return angles
""",
    9: """
import numpy as np


def limited_step(jacobian, error, angles, lower, upper):
    free = np.ones(len(angles), dtype=bool)
    while True:
        step = np.linalg.pinv(jacobian * free) @ error * free
        leaves = free & ((angles + step < lower) | (angles + step > upper))
        if not leaves.any():
            return step
        free &= ~leaves
""",
    10: """
import numpy as np


def rotation_error(wanted, now):
    R = wanted @ now.T
    sines = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine = np.linalg.norm(sines)
    if sine == 0:
        return sines
    return sines / sine * np.arctan2(sine, (np.trace(R) - 1) / 2)
""",
    11: """
import numpy as np


def null_space_step(jacobian, error, wish):
    inverse = np.linalg.pinv(jacobian)
    return inverse @ error + wish - inverse @ (jacobian @ wish)
""",
    12: """
import numpy as np


def two_goals(first, first_error, second, second_error):
    inverse = np.linalg.pinv(first)
    step = inverse @ first_error
    left = np.eye(len(step)) - inverse @ first
    return step + np.linalg.pinv(second @ left, rcond=1e-9) @ (second_error - second @ step)
""",
    13: TURN
    + """

def euler_axes(order, angles):
    R, columns = np.eye(3), []
    for letter, angle in zip(order, angles):
        axis = np.eye(3)["XYZ".index(letter)]
        columns.append(R @ axis)
        R = R @ turn(axis, angle)[:3, :3]
    return np.stack(columns, axis=1)
""",
    14: """
import numpy as np


def pose_body(model, start, targets):
    q = start.copy()
    for _ in range(100):
        error = np.concatenate([goal - model.fk(q, name)[:3, 3] for name, goal in targets.items()])
        J = np.vstack([model.jacobian(q, name)[:3] for name in targets])
        step = J.T @ np.linalg.solve(J @ J.T + 0.05**2 * np.eye(len(error)), error)
        q = model.clamp(model.integrate(q, step))
    return q
""",
}

# exercise, text of the correct answer, a mistake in its place, words that the message must contain
SLIPS = [
    (1, "T @ offset @ turn(axis, angle)", "T @ turn(axis, angle) @ offset", "order is wrong"),
    (1, "return T @ offsets[-1]", "return T", "last offset"),
    (1, "np.sin(angle) * K", "-np.sin(angle) * K", "wrong way"),
    (1, "turn(axis, angle)\n", "turn(axis, np.radians(angle))\n", "degrees"),
    (
        1,
        "T = T @ offset @ turn(axis, angle)\n    return T @ offsets[-1]",
        "T = offset @ turn(axis, angle) @ T\n    return offsets[-1] @ T",
        "tip to the root",
    ),
    (1, "return T @ offsets[-1]", "return np.linalg.inv(T @ offsets[-1])", "inverse"),
    (1, "turn(axis, angle)\n    return", "turn((0, 0, 1), angle)\n    return", "about z"),
    (1, "return T @ offsets[-1]", "return (T @ offsets[-1])[:3, 3]", "shape (3,), and (4, 4)"),
    (2, "np.cross(axes, tip - pivots)", "np.cross(tip - pivots, axes)", "sign is turned"),
    (2, "[linear.T, axes.T]", "[axes.T, linear.T]", "rows are in the wrong order"),
    (2, "tip - pivots", "0 * pivots + tip", "not axis x tip"),
    (2, "tip - pivots", "pivots", "not axis x pivot"),
    (2, "[linear.T, axes.T]", "[linear.T[:, ::-1], axes.T[:, ::-1]]", "order tip to root"),
    (2, "[linear.T, axes.T]", "[linear.T, 0 * axes.T]", "angular rows are zero"),
    (2, "np.vstack([linear.T, axes.T])", "np.hstack([linear, axes])", "rows and columns are exchanged"),
    (2, "np.vstack([linear.T, axes.T])", "linear.T", "shape (3, 2), and (6, 2)"),
    (3, "(2 * step)", "step", "divide by 2 * step"),
    (3, "position(angles - move)) / (2 * step)", "position(angles)) / step", "one-sided"),
    (3, "(position(angles + move)", "(position(angles)", "0.5 times"),
    (3, " / (2 * step)", "", "not divided by the step"),
    (3, "axis=1", "axis=0", "rows and columns"),
    (4, "return step * (error @ moved) / (moved @ moved)", "return step", "without alpha"),
    (4, "(error @ moved) / (moved @ moved)", "(moved @ moved) / (error @ moved)", "upside down"),
    (4, "return step *", "return -step *", "sign is wrong"),
    (4, "if not moved.any()", "if False", "NaN"),
    (5, "return vt", "return jacobian.T  # ", "transpose, J^T"),
    (5, "return vt", "return np.linalg.inv(jacobian)  # ", "raises LinAlgError"),
    (5, "return vt", "return jacobian.T @ np.linalg.inv(jacobian @ jacobian.T)  # ", "3 x 2 Jacobian"),
    (6, "damping**2", "damping", "not its square"),
    (6, "+ damping**2 * np.eye(len(error))", "", "nothing is damped"),
    (6, "+ damping**2", "- damping**2", "subtracted"),
    (6, "np.linalg.solve(square, error)", "error", "is missing"),
    (6, "jacobian.T @ np.linalg.solve", "-jacobian.T @ np.linalg.solve", "sign is wrong"),
    (7, "reversed(range(len(angles)))", "range(len(angles))", "root to the tip"),
    (7, "+= np.arctan2", "-= np.arctan2", "wrong way"),
    (7, "np.arctan2(a @ np.cross(e, g), e", "np.arctan2(abs(a @ np.cross(e, g)), e", "no sign"),
    (7, "        pivots, lines, tip = places(offsets, axes, angles)\n        a,", "        a,", "not computed again"),
    (7, " - (a @ e) * (a @ g)", "", "hinge's plane"),
    (7, "angles = angles.copy()", "pass", "changes its argument angles"),
    (7, "return angles\n", "return None\n", "returns None"),
    (8, "goal - position(angles)", "position(angles) - goal", "is the error goal - position"),
    (8, "range(200)", "range(0)", "nothing has moved"),
    (8, "range(200)", "range(1)", "m from the goal"),
    (8, "angles = angles.copy()", "pass", "changes its argument angles"),
    (8, "step *= min(1, 0.2 / np.abs(step).max())", "pass", "steps shortened"),
    (9, "leaves = free &", "leaves = False &", "limits are ignored"),
    (9, "        free &= ~leaves", "        return np.clip(angles + step, lower, upper) - angles", "clamped after"),
    (9, "        free &= ~leaves", "        return step * ~leaves", "do not take over"),
    (9, "return step\n", "return -step\n", "sign"),
    (10, "wanted @ now.T", "now.T @ wanted", "axes of the frame"),
    (10, "wanted @ now.T", "now @ wanted.T", "from wanted to now"),
    (10, "np.arctan2(sine, (np.trace(R) - 1) / 2)", "sine", "sine of the angle"),
    (10, "if sine == 0:", "if True:", "half the antisymmetric part"),
    (10, "    if sine == 0:", "    return 2 * sines\n    if sine == 0:", "twice the sine"),
    (10, " * np.arctan2(sine, (np.trace(R) - 1) / 2)", "", "unit axis"),
    (10, "if sine == 0", "if False", "NaN"),
    (11, "wish - inverse @ (jacobian @ wish)", "wish", "without the projector"),
    (11, "wish - inverse @ (jacobian @ wish)", "inverse @ (jacobian @ wish) - wish", "sign of the projector"),
    (11, " + wish - inverse @ (jacobian @ wish)", "", "wish is missing"),
    (11, "wish - inverse @ (jacobian @ wish)", "inverse @ (jacobian @ wish)", "moves the tip; the projector"),
    (
        12,
        "return step + ",
        "return np.linalg.pinv(np.vstack([first, second])) @ np.concatenate([first_error, second_error])  # ",
        "both goals are stacked",
    ),
    (12, "np.linalg.pinv(second @ left, rcond=1e-9)", "1e9 * left @ second.T", "numbers are huge"),
    (12, "second @ left", "second", "not kept in the null space"),
    (12, "second_error - second @ step", "second_error", "already moves the second"),
    (
        12,
        "np.linalg.pinv(second @ left, rcond=1e-9)",
        "left @ np.linalg.pinv(second)",
        "projects the second step after",
    ),
    (12, "return step + ", "return step + left @ np.linalg.pinv(second) @ second_error  # ", "not second alone"),
    (12, "return step + ", "return step  # ", "second goal is ignored"),
    (13, "R @ axis", "axis", "not rotated"),
    (13, "zip(order, angles)", "zip('XYZ', angles)", "depend on the order"),
    (13, "axis=1", "axis=0", "here it is a row"),
    (14, "model.clamp(model.integrate(q, step))", "q", "m from its target"),
    (14, "return q\n", "q[model.joint('elbow_l').q] = 9.0\n    return q\n", "beyond its range"),
    (14, "return q\n", "return q[:-1]\n", "shape"),
    (14, "return q\n", "return 2 * q\n", "unit length"),
    (14, "J = np.vstack", "J = np.hstack", "raises ValueError"),
]

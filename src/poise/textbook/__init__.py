"""The recipes as printed, in readable NumPy, equation by equation, for learning and for checking the kernels.

Nothing here calls Poise's compiled kernels; the tests compare the two. The code takes one configuration at a time, in
float64, and is clear rather than fast: use ``model.fk`` and ``model.jacobian`` in applications.

Index of the texts:

==================================================  =======================================================
Rabbani, *A recipe to cook Jacobian* (2017)
--------------------------------------------------  -------------------------------------------------------
figures 4, 6: blocks of J, passes                   `find_blocks` `count_passes`
eq. 4 to 8: wedge, adjoint, twists                  `skew` `adjoint` `twist_matrix` `twist_exponential`
eq. 7 to 10: product of exponentials                `product_of_exponentials` `exponential_jacobian`
eq. 12, 13: another point, another frame            `point_jacobian` `world_jacobian` `spatial_jacobian`
eq. 14, 15: derivative                              `adjoint_derivative` `jacobian_derivative`
procedure 1, eq. 16 to 26                           `simple_jacobian` `euler_axes`
procedure 2, eq. 11                                 `generic_jacobian`
procedure 3, eq. 30 to 32                           `adjusted_jacobian`
eq. 34, 35, figure 8: solvers                       `right_pseudoinverse` `damped_inverse` `solve_qr`
section 3.3: rotation error                         `rotation_error`
UCSD CSE169, *Inverse Kinematics, part 2* (2016)
gradient descent, transpose, step size              `gradient_descent_1d` `trace_descent` `transpose_step`
                                                    `limited_step` `run_rules`
basic Jacobian loop, gain, limits, stopping         `loop` `LoopTrace` `basic_ik`
quaternion joints                                   `best_axis_column`
scaled axis, stiffness                              `rotation_vector` `weighted_pseudoinverse`
more elaborate joint types                          `AffineJoint` `affine_jacobian`
CIMAT, *Kinematics of redundant characters* (2014)
eq. 2, 3: null space                                `controlled_step` `null_space_projector` `mid_range`
figures 18, 21: priorities                          `priority_step`
eq. 4 to 6: singular values                         `truncated_svd_inverse` `damped_svd_inverse`
Parent, *The Jacobian*
eq. 13 to 16                                        `left_pseudoinverse` `solve_lu`
eq. 17 to 24: control expression                    `control_term` `posture_cost` `posture_gradient`
                                                    `controlled_step_by_elimination`
DLUT, *Inverse kinematics* slides (2018)
zero-length links, chain of transformations         `joint_motions` `forward_kinematics` `find_chain`
truncated SVD, numerical Jacobian                   `truncated_svd_inverse` `numeric_jacobian`
                                                    `unit_velocity_jacobian` `frame_velocity`
joint limits, CCD, FABRIK                           `frozen_step` `ccd_angle` `ccd_step` `fabrik_step` `reach_along`
stability of iteration stepping                     `study_gains` `GainStudy`
selectively damped least squares                    `selectively_damped_step`
Paden and Kahan, *subproblems* (1983, 1986)
1, 2, 3, and 4 of Elias and Wen                     `find_turn_onto` `find_two_turns` `find_turns_to_distance`
                                                    `find_turns_to_height`
wrists and parallel axes                            `find_wrist` `find_parallel_turns`
Grochow et al., *Style-based inverse kinematics* (2004)
scaled Gaussian process latent variables            `train_latent_model` `LatentModel` `find_latent_cost`
==================================================  =======================================================

Each text has a page in the documentation, which lists its misprints.
"""

from poise.textbook.affine import AffineJoint, affine_jacobian, affine_point, affine_transform
from poise.textbook.bodies import Step, configuration, forward_kinematics, integrate, joint_value, path
from poise.textbook.control import (
    control_term,
    controlled_step,
    controlled_step_by_elimination,
    mid_range,
    null_space_projector,
    posture_cost,
    posture_gradient,
    priority_step,
)
from poise.textbook.derivatives import jacobian_derivative
from poise.textbook.exponentials import (
    Exponential,
    exponential_jacobian,
    exponentials,
    product_of_exponentials,
)
from poise.textbook.figures import JacobianBlocks, TransformChain, count_passes, find_blocks, find_chain
from poise.textbook.frames import point_jacobian, spatial_jacobian, world_jacobian
from poise.textbook.heuristics import ccd_step, fabrik_step, reach_along
from poise.textbook.inverses import (
    damped_inverse,
    damped_svd_inverse,
    left_pseudoinverse,
    right_pseudoinverse,
    solve_lu,
    solve_qr,
    truncated_svd_inverse,
    weighted_pseudoinverse,
)
from poise.textbook.iteration import (
    Descent,
    best_axis_column,
    ccd_angle,
    frozen_step,
    gradient_descent_1d,
    limited_step,
    selectively_damped_step,
    trace_descent,
    transpose_step,
)
from poise.textbook.jacobians import (
    adjusted_jacobian,
    frame_velocity,
    generic_jacobian,
    numeric_jacobian,
    simple_jacobian,
    unit_velocity_jacobian,
)
from poise.textbook.joints import SimpleMotion, joint_axes, joint_motions, joint_transform, plane_axes
from poise.textbook.latent import LatentModel, find_latent_cost, train_latent_model
from poise.textbook.loop import IterationTrace, LoopGoal, LoopTrace, basic_ik, loop
from poise.textbook.rotations import (
    axis_rotation,
    euler_axes,
    euler_rotation,
    quaternion_exponential,
    quaternion_product,
    quaternion_rotation,
    quaternion_vector,
    rotation_error,
    rotation_quaternion,
    rotation_vector,
    skew,
    unskew,
)
from poise.textbook.rules import RULES, GainStudy, run_rules, study_gains
from poise.textbook.subproblems import (
    find_parallel_turns,
    find_turn_onto,
    find_turns_to_distance,
    find_turns_to_height,
    find_two_turns,
    find_wrist,
)
from poise.textbook.twists import (
    adjoint,
    adjoint_derivative,
    inverse,
    rigid,
    twist_bracket,
    twist_exponential,
    twist_matrix,
)

__all__ = [
    "RULES",
    "AffineJoint",
    "Descent",
    "Exponential",
    "GainStudy",
    "IterationTrace",
    "JacobianBlocks",
    "LatentModel",
    "LoopGoal",
    "LoopTrace",
    "SimpleMotion",
    "Step",
    "TransformChain",
    "adjoint",
    "adjoint_derivative",
    "adjusted_jacobian",
    "affine_jacobian",
    "affine_point",
    "affine_transform",
    "axis_rotation",
    "basic_ik",
    "best_axis_column",
    "ccd_angle",
    "ccd_step",
    "configuration",
    "control_term",
    "controlled_step",
    "controlled_step_by_elimination",
    "count_passes",
    "damped_inverse",
    "damped_svd_inverse",
    "euler_axes",
    "euler_rotation",
    "exponential_jacobian",
    "exponentials",
    "fabrik_step",
    "find_blocks",
    "find_chain",
    "find_latent_cost",
    "find_parallel_turns",
    "find_turn_onto",
    "find_turns_to_distance",
    "find_turns_to_height",
    "find_two_turns",
    "find_wrist",
    "forward_kinematics",
    "frame_velocity",
    "frozen_step",
    "generic_jacobian",
    "gradient_descent_1d",
    "integrate",
    "inverse",
    "jacobian_derivative",
    "joint_axes",
    "joint_motions",
    "joint_transform",
    "joint_value",
    "left_pseudoinverse",
    "limited_step",
    "loop",
    "mid_range",
    "null_space_projector",
    "numeric_jacobian",
    "path",
    "plane_axes",
    "point_jacobian",
    "posture_cost",
    "posture_gradient",
    "priority_step",
    "product_of_exponentials",
    "quaternion_exponential",
    "quaternion_product",
    "quaternion_rotation",
    "quaternion_vector",
    "reach_along",
    "right_pseudoinverse",
    "rigid",
    "rotation_error",
    "rotation_quaternion",
    "rotation_vector",
    "run_rules",
    "selectively_damped_step",
    "simple_jacobian",
    "skew",
    "solve_lu",
    "solve_qr",
    "spatial_jacobian",
    "study_gains",
    "trace_descent",
    "train_latent_model",
    "transpose_step",
    "truncated_svd_inverse",
    "twist_bracket",
    "twist_exponential",
    "twist_matrix",
    "unit_velocity_jacobian",
    "unskew",
    "weighted_pseudoinverse",
    "world_jacobian",
]

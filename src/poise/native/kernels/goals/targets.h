// targets.h: converts arrays of targets to a goal's twelve numbers (R, p).
#pragma once
#include "kernels/goals/goals.h"

namespace poise {

constexpr double largest_length = 1e100;  // metres: squares of larger numbers would overflow

// a rotation matrix given to six digits, made exact; false if it is not a rotation
template <class X, class S> POISE_FN bool read_rotation(const X* R, int stride, S* to) {
  using T = real_t<S>;
  S q[4], M[9];
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    POISE_UNROLL
    for (int c = 0; c < 3; ++c) M[3 * r + c] = S(R[stride * r + c]);
  }
  direction_of_matrix(M, q);
  matrix_of_quaternion(q, to);
  bool good = true;
  POISE_UNROLL
  for (int k = 0; k < 9; ++k) good = good && absolute(to[k] - M[k]) < T(2.5e-6);
  return good;
}

// the size of a goal's target: a point or direction, a rotation matrix, a transform; up and margin of a balance
POISE_FN constexpr int target_width(int op) {
  if (op == GOAL_BALANCE) return 4;
  return op == GOAL_POSITION || is_direction(op) ? 3 : op == GOAL_ROTATION ? 9 : 16;
}

// whether lengths are measured from the world's origin
struct WorldOrigin {
  POISE_FN double operator()(int) const { return 0.0; }
};

// Reads a target of target_width(op) numbers; parts that the goal does not use stay as in `to`. False if it is invalid.
// Positions are relative to `origin`, which is subtracted in double.
template <class X, class S, class Origin = WorldOrigin>
POISE_FN bool read_target(int op, const X* x, S* to, Origin origin = {}) {
  if (op == GOAL_ALIGN) {
    double most = 0.0, d[3];  // squares of very long and very short directions would overflow and vanish
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) most = maximum(most, absolute(double(x[k])));
    if (!(most > 0.0 && most < 1e308)) return false;
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) d[k] = double(x[k]) / most;
    const double length = square_root(dot(d, d));
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) to[9 + k] = S(d[k] / length);
  } else if (op == GOAL_BALANCE) {
    for (int k = 0; k < 4; ++k) to[9 + k] = S(x[k]);
  } else if (op == GOAL_POSITION || op == GOAL_LOOK) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) to[9 + k] = S(double(x[k]) - origin(k));
  } else if (op == GOAL_ROTATION) {
    if (!read_rotation(x, 3, to)) return false;
  } else {
    const bool last_row = x[12] == X(0) && x[13] == X(0) && x[14] == X(0) && x[15] == X(1);
    if (!last_row || !read_rotation(x, 4, to)) return false;
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) to[9 + k] = S(double(x[4 * k + 3]) - origin(k));
  }
  const S largest = S(sizeof(S) == 8 ? largest_length : 1e18);
  return absolute(to[9]) < largest && absolute(to[10]) < largest && absolute(to[11]) < largest;
}

}  // namespace poise

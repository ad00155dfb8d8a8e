// rounding.h: an answer in single precision. If rounding moves a number out of its range, or a ball joint out of its
// cone, by its last digit, the next number inside is used.
#pragma once
#include <cmath>

#include "memory/solver_data.h"

namespace poise {

constexpr double single_digits = 1e-6;  // the largest violation of a limit by rounding, with a margin

// the float nearest to x, inside the range if x is
inline double single_inside(double x, const Freedom<double>& f) {
  const auto near = static_cast<float>(x);
  const double rounded = near;
  if (rounded > f.upper && rounded <= f.upper + single_digits * (1 + absolute(f.upper))) {
    const auto end = static_cast<float>(f.upper);
    return static_cast<double>(end) > f.upper ? std::nextafter(end, -INFINITY) : end;
  }
  if (rounded < f.lower && rounded >= f.lower - single_digits * (1 + absolute(f.lower))) {
    const auto end = static_cast<float>(f.lower);
    return static_cast<double>(end) < f.lower ? std::nextafter(end, INFINITY) : end;
  }
  return rounded;
}

// a cone narrowed by a margin
inline ConeSpec<double> narrowed(ConeSpec<double> cone, double by) {
  for (double& swing : cone.swing) swing = maximum(swing - by, 0.5 * swing);
  cone.twist[0] += by;
  cone.twist[1] -= by;
  cone.angle = maximum(cone.angle - by, 0.5 * cone.angle);
  return cone;
}

// the quaternion `exact` of a ball joint as floats, inside its cone if it is
inline void round_ball(const ConeSpec<double>& cone, const double* exact, double* rounded) {
  if (least_gap(cone, exact) < -single_digits) return;
  double room = 0.1 * single_digits;
  for (int attempt = 0; attempt < 6 && least_gap(cone, rounded) < 0.0; ++attempt, room *= 2.0) {
    double q[4];
    for (int k = 0; k < 4; ++k) q[k] = exact[k];
    clamp_to_cone(narrowed(cone, room), q);
    double along = 0.0;  // dot product, to keep the sign of `exact`
    for (int k = 0; k < 4; ++k) along += q[k] * exact[k];
    for (int k = 0; k < 4; ++k) rounded[k] = static_cast<double>(static_cast<float>(along < 0.0 ? -q[k] : q[k]));
  }
}

// a whole configuration in single precision
inline void round_pose(const SolverData& solver, double* q) {
  for (const ConeSpec<double>& cone : solver.cones) {
    double exact[4], *at = q + cone.q_index;
    for (int k = 0; k < 4; ++k) {
      exact[k] = at[k];
      at[k] = static_cast<double>(static_cast<float>(at[k]));
    }
    round_ball(cone, exact, at);
  }
  for (const Freedom<double>& f : solver.freedoms) {
    if (f.q_index >= 0) q[f.q_index] = single_inside(q[f.q_index], f);
  }
  for (const Freedom<double>& f : solver.idle) q[f.q_index] = single_inside(q[f.q_index], f);
  for (int k = 0; k < solver.n_q; ++k) q[k] = static_cast<double>(static_cast<float>(q[k]));
}

}  // namespace poise

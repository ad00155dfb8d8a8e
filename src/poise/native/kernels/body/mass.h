// mass.h: the centre of mass and its Jacobian, for ONE pose.
#pragma once
#include "kernels/body/kinematics.h"

namespace poise {

// mass and first moment, in the world, of primitive i alone, or of the fixed parts after the last one
template <class S, class Body> POISE_FN void weigh_part(const Body& body, const S* placements, int i, S* sums) {
  const S mass = S(body.masses[i].mass);
  S moment[3] = {S(body.masses[i].moment[0]), S(body.masses[i].moment[1]), S(body.masses[i].moment[2])};
  const S* R = placements + 12 * i;
  const bool moves = i < body.count();
  if (moves) rotate(R, moment, moment);
  sums[4 * i] = mass;
  for (int r = 0; r < 3; ++r) sums[4 * i + 1 + r] = moves ? moment[r] + mass * R[9 + r] : moment[r];
}

// sums[4 i]: mass and first moment, in the world, of the subtree of primitive i; sums[4 n]: of the whole body with its
// fixed parts
template <class S, class Body> POISE_FN void gather_mass(const Body& body, const S* placements, S* sums) {
  const int n = body.count();
  for (int i = 0; i <= n; ++i) weigh_part(body, placements, i, sums);
  for (int i = n - 1; i >= 0; --i) {
    const int above = body[i].parent < 0 ? n : body[i].parent;
    for (int r = 0; r < 4; ++r) sums[4 * above + r] += sums[4 * i + r];
  }
}

// The velocity of the centre of mass per unit velocity k of a primitive, which moves its subtree (`sum`):
// [axis x (moment - mass * origin)] / total, or axis * mass / total when it slides
template <class S, class P> POISE_LARGE_FN void mass_column(const P& primitive, int k, const S* q, const S* placement,
                                                            const S* sum, S per_mass, S* rate) {
  using T = real_t<S>;
  if (is_path(primitive)) {
    CurvePoint<S> at;
    S slide[3], turn[3], arm[3];
    point_of_path(primitive, q, at);
    rotate(placement, at.v, slide);
    rotate(placement, at.w, turn);
    if (is_scaled(primitive)) {
      for (int r = 0; r < 3; ++r) turn[r] /= size_of(placement);
    }
    for (int r = 0; r < 3; ++r) arm[r] = sum[1 + r] - sum[0] * placement[9 + r];
    cross(turn, arm, rate);
    for (int r = 0; r < 3; ++r) rate[r] = per_mass * (rate[r] + sum[0] * slide[r]);
    return;
  }
  const int at = width_of(primitive.kind) == 3 ? k : 2;
  const S axis[3] = {placement[at], placement[3 + at], placement[6 + at]};
  const S mass = sum[0];
  S arm[3];
  for (int r = 0; r < 3; ++r) {
    arm[r] = sum[1 + r] - mass * placement[9 + r];
    rate[r] = S(T(0));
  }
  if (is_scale(primitive)) {
    for (int r = 0; r < 3; ++r) rate[r] = growth_of(primitive, q) * per_mass * arm[r];
    return;
  }
  const bool slides = primitive.kind == PRISMATIC || primitive.kind == SLIDE3;
  if (!slides) cross(axis, arm, rate);
  if (!slides && is_scaled(primitive)) {
    for (int r = 0; r < 3; ++r) rate[r] /= size_of(placement);
  }
  const S slide = slides ? S(T(1)) : S(primitive.kind == SCREW ? primitive.pitch : T(0));
  for (int r = 0; r < 3; ++r) rate[r] = S(primitive.gain) * per_mass * (rate[r] + slide * mass * axis[r]);
}

// Centre of mass (3) and, if J is not null, its Jacobian (3, n_v). `placements` (12 each) and `sums` (4 each, and 4)
// are workspace.
template <class S, class Body>
POISE_LARGE_FN void center_of_mass(const Body& body, const S* q, int n_v, S* placements, S* sums, S* center, S* J) {
  using T = real_t<S>;
  const int n = body.count();
  place_all(body, q, placements);
  gather_mass(body, placements, sums);
  const S per_mass = S(T(1)) / sums[4 * n];
  for (int r = 0; r < 3; ++r) center[r] = sums[4 * n + 1 + r] * per_mass;
  if (!J) return;
  for (int k = 0; k < 3 * n_v; ++k) J[k] = S(T(0));
  for (int i = 0; i < n; ++i) {
    const auto& b = body[i];
    for (int k = 0; k < width_of(b.kind); ++k) {
      S rate[3];
      mass_column(b, k, q, placements + 12 * i, sums + 4 * i, per_mass, rate);
      for (int r = 0; r < 3; ++r) J[r * n_v + b.v_index + k] += rate[r];
    }
  }
}

}  // namespace poise

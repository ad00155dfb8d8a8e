// mass.h: the centre of mass and its Jacobian, for ONE pose.
#pragma once
#include "kinematics.h"

namespace poise {

// Total mass; centre of mass (3) and, where J is not null, its Jacobian (3, n_v). `placements` (12 each) and `sums` (4 each)
// are workspace: sums[4 i] holds the mass and first moment, in the world, of the subtree of primitive i.
template <class S, class Body>
POISE_FN void center_of_mass(const Body& body, const S* q, int n_v, S* placements, S* sums, S* center, S* J) {
  using T = real_t<S>;
  const int n = body.count();
  place_all(body, q, placements);
  S total[4] = {S(body.masses[n].mass), S(body.masses[n].moment[0]), S(body.masses[n].moment[1]),
                S(body.masses[n].moment[2])};
  for (int i = 0; i < n; ++i) {
    const S* R = placements + 12 * i;
    const S mass = S(body.masses[i].mass);
    S moment[3] = {S(body.masses[i].moment[0]), S(body.masses[i].moment[1]), S(body.masses[i].moment[2])};
    rotate(R, moment, moment);
    sums[4 * i] = mass;
    for (int r = 0; r < 3; ++r) sums[4 * i + 1 + r] = moment[r] + mass * R[9 + r];
  }
  for (int i = n - 1; i >= 0; --i) {
    S* above = body[i].parent < 0 ? total : sums + 4 * body[i].parent;
    for (int r = 0; r < 4; ++r) above[r] += sums[4 * i + r];
  }
  const S per_mass = S(T(1)) / total[0];
  for (int r = 0; r < 3; ++r) center[r] = total[1 + r] * per_mass;
  if (!J) return;

  // joint i carries its subtree: [axis x (moment - mass * origin)] / total, or axis * mass / total when it slides
  for (int k = 0; k < 3 * n_v; ++k) J[k] = S(T(0));
  for (int i = 0; i < n; ++i) {
    const auto& b = body[i];
    const S* R = placements + 12 * i;
    const S mass = sums[4 * i];
    S arm[3];
    for (int r = 0; r < 3; ++r) arm[r] = sums[4 * i + 1 + r] - mass * R[9 + r];
    const bool slides = b.kind == PRISMATIC || b.kind == SLIDE3;
    const int first = width_of(b.kind) == 3 ? 0 : 2;
    for (int k = first; k < 3; ++k) {
      const S axis[3] = {R[k], R[3 + k], R[6 + k]};
      S rate[3] = {S(T(0)), S(T(0)), S(T(0))};
      if (!slides) cross(axis, arm, rate);
      const S slide = slides ? S(T(1)) : S(b.kind == SCREW ? b.pitch : T(0));
      for (int r = 0; r < 3; ++r) {
        J[r * n_v + b.v_index + k - first] += S(b.gain) * per_mass * (rate[r] + slide * mass * axis[r]);
      }
    }
  }
}

}  // namespace poise

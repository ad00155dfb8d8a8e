// rates.h: bounds on the speed and acceleration of the joints of a clip. Part of clip.cpp.
//
//   |s_t| <= speed,   |s_t - s_{t-1}| <= acceleration,      s_t = q_{t+1} (-) q_t,  both per frame, not per second
//
// A violated bound costs weight |excess|^2. A speed couples two frames and an acceleration three, each velocity only
// with itself, so that both fit into the band of the smoothness; their contribution is stored in d.rate_couplings.
#pragma once
#include "run/clip/rows.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

class FrameRates : public FrameRows {
 public:
  using FrameRows::FrameRows;

 protected:
  S* force_of(int t) { return of_frame(d.rate_force, t); }
  S* coupling_of(int t, int apart) { return d.rate_couplings.data() + (at(t) * 3 + at(apart)) * at(n); }

  // the signed excess of x over its bound; 0 inside
  static S excess_of(S x, S bound) { return x > bound ? x - bound : x < -bound ? x + bound : 0.0; }

  // The cost of the rates of all frames.
  S look_at_rates(const S* q, S weight) {
    S cost = 0.0;
    visit_rates(q, [&](int, int c, S step, S change) {
      const S fast = excess_of(step, d.speed[at(c)]), sudden = excess_of(change, d.acceleration[at(c)]);
      cost += weight / problem.freedoms[c].unit2 * (fast * fast + sudden * sudden);
    });
    return cost;
  }

  // Adds the rates beyond their bounds to the band.
  void find_rate_rows(S weight) {
    std::fill(d.rate_force.begin(), d.rate_force.end(), 0.0);
    std::fill(d.rate_couplings.begin(), d.rate_couplings.end(), 0.0);
    visit_rates(d.q.data(), [&](int t, int c, S step, S change) {
      const S w = weight / problem.freedoms[c].unit2;
      const S fast = excess_of(step, d.speed[at(c)]), sudden = excess_of(change, d.acceleration[at(c)]);
      if (fast != 0.0) keep_speed(t, c, w, fast);
      if (sudden != 0.0) keep_acceleration(t, c, w, sudden);
    });
  }

 private:
  // each step from frame t to the next, and its change from the previous step (0 at the first), for each velocity
  template <class Visit> void visit_rates(const S* q, Visit visit) {
    if (!d.timed) return;
    S* before = d.pace.data();
    S* step = before + n;
    for (int t = 0; t + 1 < d.frames; ++t) {
      const S* here = q + at(t) * at(solver.n_q);
      difference(problem.coordinates, problem.n_coordinates, here, here + solver.n_q, step);
      for (int c = 0; c < n; ++c) visit(t, c, step[c], t > 0 ? step[c] - before[c] : 0.0);
      std::swap(before, step);
    }
  }

  void keep_speed(int t, int c, S w, S excess) {
    force_of(t)[c] += w * excess;
    force_of(t + 1)[c] -= w * excess;
    coupling_of(t, 0)[c] += w;
    coupling_of(t + 1, 0)[c] += w;
    coupling_of(t, 1)[c] -= w;
  }

  // about frame t
  void keep_acceleration(int t, int c, S w, S excess) {
    force_of(t - 1)[c] -= w * excess;
    force_of(t)[c] += 2.0 * w * excess;
    force_of(t + 1)[c] -= w * excess;
    coupling_of(t - 1, 0)[c] += w;
    coupling_of(t, 0)[c] += 4.0 * w;
    coupling_of(t + 1, 0)[c] += w;
    coupling_of(t - 1, 1)[c] -= 2.0 * w;
    coupling_of(t, 1)[c] -= 2.0 * w;
    coupling_of(t - 1, 2)[c] += w;
  }
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise

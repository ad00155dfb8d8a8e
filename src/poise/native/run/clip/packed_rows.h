// packed_rows.h: the weighted rows of one frame of a clip in whole blocks, over the velocities that affect any row. Part
// of clip.cpp.
#pragma once
#include "kernels/algebra/banded.h"
#include "run/clip/correction.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

class PackedRows : public FrameCorrection {
 public:
  using FrameCorrection::FrameCorrection;

 protected:
  // the velocities that affect a row; the others are coupled only with themselves
  void find_coupled() {
    d.coupled.clear();
    for (int c = 0; c < n; ++c) {
      if (limits.n || solver.runs[at(c)].first != solver.runs[at(c)].last) d.coupled.push_back(c);
    }
  }
  int n_coupled() const { return static_cast<int>(d.coupled.size()); }

  // J^T in whole blocks, one weighted row of J after another, without goals that are inactive in this frame and rows
  // inside their range, and their residuals; returns the number of rows
  int pack_rows_of(int t, const S* q, S weight) {
    const int wide = band_block<S>(n_coupled());
    const S root = std::sqrt(weight);
    int packed = 0;
    const auto pack = [&](const S* row, int stride, S w, S rest) {
      S* to = d.scratch.data() + at(packed) * at(wide);
      for (int k = 0; k < n_coupled(); ++k) to[k] = w * row[d.coupled[at(k)] * stride];
      for (int k = n_coupled(); k < wide; ++k) to[k] = 0.0;
      d.packed_rest[at(packed++)] = rest;
    };
    for (int g = 0; g < problem.goals.count(); ++g) {
      const int first = problem.goals[g].first_row, count = rows_of_goal(problem.goals[g]);
      const S w = weight_of(t, g, root);
      const bool active = w != 0.0 && !rests_inside(first, count);
      if (active) assemble_alone(g, t, q, count);
      for (int k = 0; k < count; ++k) {
        d.packed_before[at(first + k)] = packed;
        if (active && !rests_inside(first + k, 1)) pack(d.J.data() + k, count, w, d.rows[at(first + k)]);
      }
    }
    d.packed_before[at(m)] = packed;
    for (int k = 0; k < n_near; ++k) pack(d.limit_rows.data() + at(k) * at(n), 1, 1.0, d.limit_rest[at(k)]);
    return packed;
  }

 private:
  // whether rows of the last look are all inside their ranges: their J is zero
  bool rests_inside(int first, int count) const {
    const S* room = solver.state.room;
    for (int r = first; r < first + count; ++r) {
      if (!room || room[2 * r] > 0.0 || room[2 * r + 1] < 0.0) return false;
    }
    return true;
  }

  // J of one goal, in `count` rows
  void assemble_alone(int g, int t, const S* q, int count) {
    auto alone = problem;
    alone.goals.specs = d.lone_goals.data() + g;
    alone.goals.n = 1;
    alone.n_rows = count;
    const S* room = solver.state.room ? solver.state.room + 2 * problem.goals[g].first_row : nullptr;
    assemble(alone, q, placements_of(t), targets_of(t), d.J.data(), room);
  }
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise

// gpu_places.h: the base and the regions of a batch on a GPU, placed row by row.
//
// Regions keep their numbers: the body is placed in the axes of each region (gpu_gaps.h). Targets move into the axes of
// the base before the search. Two passes:
//   move_targets   every row, before all others: its targets as the base sees them; a transform that is not rigid makes
//                  them NaN, and the row invalid
//   block_bases    every row, after all others: IN_COLLISION if a part that no joint moves collides, with the same pose
#pragma once
#include "kernels/loop/gpu_entry.h"
#include "kernels/loop/gpu_gaps.h"

namespace poise {

constexpr double rigid_to = 1e-6;         // deviation of R^T R from the identity, and of the last row from (0, 0, 0, 1)
constexpr double standing_height = 1e-3;  // m: the base stands on regions that rise less than this above its origin

// Whether the transform of a row is rigid, or none is given.
POISE_FN bool is_rigid(const DevicePlaces& place, int row) {
  double T[16];
  for (int k = 0; k < 16; ++k) T[k] = number_of(place, row, k);
  bool good = true;
  for (int k = 0; k < 9; ++k) {
    const int i = k / 3, j = k % 3;
    const double product = T[i] * T[j] + T[4 + i] * T[4 + j] + T[8 + i] * T[8 + j];
    good = good && absolute(product - double(i == j)) <= rigid_to && T[4 * i + 3] - T[4 * i + 3] == 0.0;
  }
  for (int k = 0; k < 4; ++k) good = good && absolute(T[12 + k] - double(k == 3)) <= rigid_to;
  const double x[3] = {T[0], T[4], T[8]}, y[3] = {T[1], T[5], T[9]}, z[3] = {T[2], T[6], T[10]};
  double normal[3];
  cross(x, y, normal);
  return good && dot(normal, z) > 0.0;
}

// Writes a target of target_width(op) numbers as the base at `place` sees it.
template <class X> POISE_FN void move_target(int op, const X* x, const double* place, double* to) {
  const int width = op == GOAL_POSITION ? 1 : op == GOAL_ROTATION ? 3 : 4;  // columns
  for (int c = 0; c < width; ++c) {
    const bool point = c == 3 || width == 1;
    double column[3];
    for (int k = 0; k < 3; ++k) column[k] = double(x[width * k + c]) - (point ? place[9 + k] : 0.0);
    rotate_back(place, column, column);
    for (int k = 0; k < 3; ++k) to[width * k + c] = column[k];
  }
  for (int k = 3 * width; k < target_width(op); ++k) to[k] = double(x[k]);
}

template <class P, class T> POISE_FN void move_row_targets(const P& problem, const DeviceRows<T, P::n_goals>& io,
                                                           const ClearanceCall<double>& clear, int row) {
  double base[12];
  bool good = true;
  for (int g = 0; g < clear.n_places; ++g) good = good && is_rigid(clear.places[g], row);
  read_place(clear.places[0], row, base);
  double* to = clear.targets;
  for (int g = 0; g < P::n_goals; ++g) {
    const auto& goal = problem.goals[g];
    const int width = target_width(goal.op);
    const long long at = row * io.target_stride[g];
    double given[16];
    for (int k = 0; k < width; ++k) {
      given[k] = io.single[g] ? double(static_cast<const float*>(io.targets[g])[at + k])
                              : static_cast<const double*>(io.targets[g])[at + k];
    }
    double* moved = to + static_cast<long long>(width) * row;
    if (clear.places[0].data && goal.base < 0) move_target(goal.op, given, base, given);
    for (int k = 0; k < width; ++k) moved[k] = good ? given[k] : not_a_number<double>();
    to += static_cast<long long>(width) * io.rows;
  }
}

// Whether a fixed part collides with a region on which the base does not stand.
POISE_FN bool is_base_blocked(const ClearanceCall<double>& clear, int row) {
  bool blocked = false;
  for (int g = 0; g < clear.n_places; ++g) {
    double seen[12] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
    see_regions(clear, g, row, seen);
    for (int r = clear.places[g].first; r < clear.places[g].last; ++r) {
      bool hit = false;
      for (int c = clear.fixed; c < clear.above; ++c) hit = is_pair_near(clear, {c, r, g}, seen, seen, 0.0) || hit;
      const Suspect above{clear.above, r, g};
      blocked = blocked || (hit && is_pair_near(clear, above, seen, seen, -standing_height - clear.distance));
    }
  }
  return blocked;
}

template <class T, int GOALS>
POISE_FN void block_row(const DeviceRows<T, GOALS>& io, const ClearanceCall<double>& clear, int row) {
  const signed char code = io.codes[row];
  if (code == ROW_INVALID || code == ROW_UNREACHABLE || !is_base_blocked(clear, row)) return;
  io.reached[row] = false;
  io.codes[row] = ROW_IN_COLLISION;
}

}  // namespace poise

// step.h: a pose, and one step from it for all levels so far. Part of solve.cpp.
#pragma once
#include <algorithm>

#include "run/seeds.h"
#include "run/strict/tuning.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// ---------------------------------------------------------------------------------------------- a pose

// Returns the problem without the goals of the levels below `level`.
auto cut_problem(const SolverData& solver, int level) {
  auto problem = solver.problem();
  const auto& ends = solver.strict_state.level_goals;
  problem.goals.n = ends[std::min(static_cast<std::size_t>(level) + 1, ends.size() - 1)];
  return problem;
}

// Lists the limits near the pose p.q, with their gaps, unless it was measured last.
void measure_limits(SolverData& solver, StrictPoint& p) {
  const auto n_q = static_cast<std::size_t>(solver.n_q);
  if (p.is_measured && std::equal(p.q, p.q + n_q, p.measured)) return;
  std::copy_n(p.q, n_q, p.measured);
  p.is_measured = true;
  const auto problem = solver.problem();
  const LimitList<double> limits = solver.limit_list();
  for (int k = 0; k < p.n_near; ++k) p.gaps[p.near[k]] = near_enough;
  const int most = static_cast<int>(solver.strict_state.near_limits.size());
  NearGaps<S> near{p.gaps, p.near.data(), 0, solver.strict_state.nearest_gaps, most, 0, tuning.hair};
  place_capsules(limits, p.placements);
  int row = 0;
  for (SurfaceData& surfaces : solver.surfaces) {
    for (; row < surfaces.first_row; ++row) near.add(row, gap_of(problem, limits, row, p.q));
    add_gaps<NativePack<S>>(problem, limits, surfaces.list(), p.q, p.placements, near);
    row += surfaces.n_rows;
  }
  for (; row < limits.n; ++row) near.add(row, gap_of(problem, limits, row, p.q));
  p.n_near = near.n_rows;
}

// Evaluates everything about the pose p.q that levels 0 ... level need.
void evaluate_point(SolverData& solver, StrictPoint& p, int level) {
  const auto problem = cut_problem(solver, level);
  const StrictState& t = solver.strict_state;
  count_pose(solver);
  evaluate(problem, p.q, solver.targets.data(), p.placements, p.rows, p.errors, p.room);
  if (solver.custom_rows) solver.custom_rows(p.q, p.rows, p.errors, problem.goals.n);
  relax_rows(solver, problem.goals.n, p.errors, p.rows);
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  for (int k = 0; k < levels && k <= level; ++k) {
    p.costs[k] = 0.0;
    for (int r = t.level_rows[static_cast<std::size_t>(k)]; r < t.level_rows[static_cast<std::size_t>(k) + 1]; ++r)
      p.costs[k] += p.rows[r] * p.rows[r];
  }
  if (level == levels) p.costs[levels] = posture_cost(problem, p.q, solver.posture(), solver.state.work.b);
  measure_limits(solver, p);
}

// Returns the largest violation of a limit, 0 or less if there is none.
double measure_violation(const SolverData& solver, const StrictPoint& p) {
  double worst = outside_of(solver.problem(), solver.settings, p.q);
  for (int k = 0; k < p.n_near; ++k) worst = maximum(worst, -p.gaps[p.near[k]]);
  return worst;
}

// Whether goals [first, last) are within `bounds`, metres and radians of each.
bool are_goals_within(const StrictPoint& p, int first, int last, const double* bounds) {
  for (int g = first; g < last; ++g) {
    if (p.errors[2 * g] > bounds[2 * g] || p.errors[2 * g + 1] > bounds[2 * g + 1]) return false;
  }
  return true;
}

// Whether a step violates no limit, and no violated one further.
bool keeps_limits(const StrictPoint& from, const StrictPoint& to) {
  for (int k = 0; k < to.n_near; ++k) {
    if (to.gaps[to.near[k]] < minimum(from.gaps[to.near[k]], tuning.hair)) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------- one step

// Sets the metric of the step: stiffness or, for the posture, its own gains, in which one step is its minimum.
void fill_measure(SolverData& solver, const StrictPoint& p, bool posture) {
  const auto problem = solver.problem();
  StrictState& t = solver.strict_state;
  const S part = solver.mode == Mode::CONTINUOUS ? tuning.frame_posture_part : 1.0;
  if (posture) difference(problem.coordinates, problem.n_coordinates, p.q, solver.posture_wanted.data(), t.wanted);
  for (int c = 0; c < solver.n_v; ++c) {
    const auto& f = problem.freedoms[c];
    S weight = f.weight;
    if (posture) {
      const S gain = solver.posture_gain[static_cast<std::size_t>(c)] *
                     steepness(solver.posture(), t.wanted[c] * t.wanted[c] / f.unit2);
      weight = maximum(gain, tuning.no_gain);
      t.wanted[c] = gain > 0.0 ? part * t.wanted[c] : 0.0;
    }
    t.work.scale[c] = square_root(f.unit2 / weight);
    t.work.turn[c] = 1.0 / square_root(weight);
    t.wanted[c] /= t.work.scale[c];
  }
}

// Fixes joints at an end of their range there, in both directions: a correction without them needs no active set.
void hold_at_bounds(SolverData& solver) {
  const StepWorkspace<S>& work = solver.state.work;
  for (int c = 0; c < solver.n_v; ++c) {
    const S near = tuning.at_bound * solver.strict_state.work.scale[c];
    if (work.low[c] > -near || work.high[c] < near) solver.strict_state.work.scale[c] = 0.0;
  }
}

// Writes the rows of the levels up to `level`, in the metric of the step.
void fill_rows(SolverData& solver, const StrictPoint& p, int level) {
  const auto problem = cut_problem(solver, level);
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  S* J = solver.state.J;
  if (t.assembled != p.q || t.assembled_level < level) {
    assemble(problem, p.q, p.placements, solver.targets.data(), J);
    if (solver.custom_columns) solver.custom_columns(p.q, J, problem.goals.n);
    relax_columns(solver, problem.goals.n, p.errors, p.rows, J);
    t.assembled = p.q;
    t.assembled_level = level;
  }
  const int m = solver.n_rows,
            end = t.level_rows[std::min(static_cast<std::size_t>(level) + 1, t.level_rows.size() - 1)];
  for (int c = 0; c < w.n; ++c) {
    for (int r = 0; r < end; ++r) w.rows[r * w.stride + c] = J[c * m + r] * w.scale[c];
  }
  for (int r = 0; r < end; ++r) {
    w.r[r] = p.rows[r];
    t.resting[static_cast<std::size_t>(r)] = p.room[2 * r] <= 0.0 && p.room[2 * r + 1] >= 0.0;
  }
  for (int k = 0; k < t.level && k <= level; ++k) {
    if (!t.frozen[static_cast<std::size_t>(k)]) continue;
    for (int r = t.level_rows[static_cast<std::size_t>(k)]; r < t.level_rows[static_cast<std::size_t>(k) + 1]; ++r)
      w.r[r] -= t.frozen_rows[r];
  }
}

// Marks the rows of a higher level that must not move: those not inside their range or at its edge. True if one is at
// the edge.
bool mark_loose_rows(SolverData& solver, const StrictPoint& p, int first, int last) {
  StrictState& t = solver.strict_state;
  bool any = false;
  for (int r = first; r < last; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const bool edge = !t.resting[i] && p.room[2 * r] < p.room[2 * r + 1] && absolute(p.rows[r]) < tuning.at_the_edge;
    t.loose[i] = t.resting[i] || edge;
    any = any || edge;
  }
  return any;
}

// Sets the bounds of every velocity, then the limits that a step of `trust` could reach. Violated limits get their own
// rows after the goals' rows; returns their number.
int fill_inequalities(SolverData& solver, const StrictPoint& p, S trust) {
  const auto problem = solver.problem();
  const LimitList<S> limits = solver.limit_list();
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  w.n_inequalities = 0;
  w.n_basis = w.n_basis_above = 0;
  for (int k = 0; k < w.stride; ++k) w.x[k] = 0.0;
  for (int c = 0; c < w.n; ++c) {
    const bool still = !(w.scale[c] > 0.0);
    const S low = still ? 0.0 : solver.state.work.low[c] / w.scale[c];
    const S high = still ? 0.0 : solver.state.work.high[c] / w.scale[c];
    w.inequalities[w.n_inequalities++] = {nullptr, c, low, high};
    w.x[c] = minimum(maximum(0.0, low), high);
  }
  const S horizon = minimum(2.0 * trust + tuning.horizon, near_enough);
  if (p.n_near) place_capsules(limits, p.placements);
  std::size_t count = 0;
  for (int j = 0; j < p.n_near; ++j) {
    const int i = p.near[j];
    if (p.gaps[i] > horizon) continue;
    std::size_t k = count < t.near_limits.size() ? count++ : count;  // the nearest ones, sorted
    if (k == count && k > 0 && p.gaps[t.near_limits[k - 1]] <= p.gaps[i]) continue;
    k = k == count ? k - 1 : k;
    for (; k > 0 && p.gaps[t.near_limits[k - 1]] > p.gaps[i]; --k) t.near_limits[k] = t.near_limits[k - 1];
    t.near_limits[k] = i;
  }
  int n_broken = 0;
  for (std::size_t k = 0; k < count; ++k) {
    S* row = t.limit_rows + k * static_cast<std::size_t>(w.stride);
    for (int c = w.n; c < w.stride; ++c) row[c] = 0.0;
    row_of_limit(problem, limits, t.near_limits[k], p.q, p.placements, row);
    for (int c = 0; c < w.n; ++c) row[c] *= w.scale[c];
    const S gap = p.gaps[t.near_limits[k]];
    if (gap >= tuning.hair) {  // down to the gap to which a violated limit returns; half way in a narrower range
      w.inequalities[w.n_inequalities++] = {row, -1, -maximum(gap - tuning.brought_back, 0.5 * gap), open_end<S>};
      continue;
    }
    const int r = solver.n_rows + n_broken++;
    for (int c = 0; c < w.stride; ++c) w.rows[r * w.stride + c] = row[c];
    w.r[r] = minimum(tuning.brought_back - gap, trust);
  }
  return n_broken;
}

// Returns the damping at a level that is reached.
S find_damping_floor(const SolverData& solver, int level) {
  const auto& ends = solver.strict_state.level_goals;
  S least = 1.0;
  for (int g = ends[static_cast<std::size_t>(level)]; g < ends[static_cast<std::size_t>(level) + 1]; ++g) {
    for (const S w : solver.goals[static_cast<std::size_t>(g)].weight) least = w > 0.0 ? minimum(least, w) : least;
  }
  return minimum(solver.settings.damping_floor, tuning.weight_floor * least * least);
}

// Solves level k, one of those up to `level`, in the null space of the levels before it.
void serve_level(SolverData& solver, const StrictPoint& p, int k, int level, S trust) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  const int first = t.level_rows[static_cast<std::size_t>(k)], last = t.level_rows[static_cast<std::size_t>(k) + 1];
  // levels above are only kept: their corrections are small, and must be exact
  const bool above = k < t.level;
  S cost = p.costs[k];
  if (above && t.frozen[static_cast<std::size_t>(k)]) {
    cost = 0.0;
    for (int r = first; r < last; ++r) cost += w.r[r] * w.r[r];
  }
  const S floor = find_damping_floor(solver, k);
  const S full = solver.settings.damping * cost + (above ? minimum(tuning.least_damping, floor) : floor);
  const S bent = solver.mode == Mode::CONTINUOUS && k > 0 ? tuning.curved * square_root(cost) : 0.0;
  const S damping = above ? full : maximum(t.damping_share * full, minimum(tuning.least_damping, floor)) + bent;
  solver.state.damping = damping;
  const bool edges = above && mark_loose_rows(solver, p, first, last);
  serve_rows(w, first, last, t.resting.data(), damping, k == level ? trust : solver.settings.reach,
             edges ? t.loose.data() : nullptr);
  const std::vector<char>& inside = edges ? t.loose : t.resting;
  for (int r = first; r < last; ++r) {  // rows at rest in their range must stay there from now on
    if (!inside[static_cast<std::size_t>(r)] || !(p.room[2 * r + 1] < open_end<S> || p.room[2 * r] > -open_end<S>))
      continue;
    const S* row = w.rows + r * w.stride;
    S low = p.room[2 * r], high = p.room[2 * r + 1];
    if (edges && !t.resting[static_cast<std::size_t>(r)]) {
      const S now = dot_n(row, w.x, w.stride);
      low = minimum(low, now);
      high = maximum(high, now);
    }
    w.inequalities[w.n_inequalities++] = {row, -1, low, high};
  }
}

// Reduces the violations of limits. Closed loops come before them, and stay closed.
void serve_broken_limits(SolverData& solver, S trust) {
  const StrictState& t = solver.strict_state;
  if (!t.n_returning) return;
  serve_rows(solver.strict_state.work, solver.n_rows, solver.n_rows + t.n_returning, static_cast<const char*>(nullptr),
             tuning.returning, trust);
}

// Solves the levels above `level` from the pose p, in work.x; the work's basis defines the remaining freedom. The
// posture is the level after the last.
void serve_above(SolverData& solver, const StrictPoint& p, int level, S trust) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  ++t.steps_solved;
  copy_configuration(solver.problem(), p.q, solver.state.q);
  find_room(solver.problem(), solver.settings, solver.state);
  fill_measure(solver, p, level == levels);
  if (t.bounds_held) hold_at_bounds(solver);
  fill_rows(solver, p, level);
  t.n_returning = fill_inequalities(solver, p, trust);
  const bool loops = solver.goals[0].level < 0;
  if (!loops || level < 0) serve_broken_limits(solver, trust);
  for (int k = 0; k < level; ++k) {
    serve_level(solver, p, k, level, trust);
    if (k == 0 && loops) serve_broken_limits(solver, trust);
  }
  w.n_basis_above = w.n_basis;
}

// Makes a step for levels 0 ... level from the pose p, with no motion longer than `trust`, in state.dq.
void make_strict_step(SolverData& solver, const StrictPoint& p, int level, S trust) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  serve_above(solver, p, level, trust);
  if (level == levels) serve_posture(w, t.wanted, trust);
  t.predicted_cost = 0.0;
  if (level >= 0 && level < levels) {
    serve_level(solver, p, level, level, trust);
    if (level == 0 && solver.goals[0].level < 0) serve_broken_limits(solver, trust);
    const int first = t.level_rows[static_cast<std::size_t>(level)],
              last = t.level_rows[static_cast<std::size_t>(level) + 1];
    for (int r = first; r < last; ++r) {
      if (t.resting[static_cast<std::size_t>(r)]) continue;
      const S left = w.r[r] - dot_n(w.rows + r * w.stride, w.x, w.stride);
      t.predicted_cost += left * left;
    }
  }
  for (int c = 0; c < w.n; ++c) {
    const S dq = w.x[c] * w.scale[c];
    solver.state.dq[c] = minimum(maximum(dq, solver.state.work.low[c]), solver.state.work.high[c]);
  }
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise

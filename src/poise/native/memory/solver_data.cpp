// solver_data.cpp: memory of a prepared problem.
#include "memory/solver_data.h"

#include <algorithm>

#include "kernels/problem/chain.h"

namespace poise {
namespace {

struct Part {
  double** at;
  std::size_t size;
};

// every part is a piece of one block, with eight spare numbers so that loops over whole registers stay inside
void hand_out(const Part* parts, std::size_t n, std::vector<double>& memory) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < n; ++i) total += parts[i].size + 8;
  memory.assign(total, 0.0);
  double* next = memory.data();
  for (std::size_t i = 0; i < n; ++i) {
    *parts[i].at = next;
    next += parts[i].size + 8;
  }
}

constexpr int most_held = 128;  // largest number of active inequalities of a level
constexpr int most_near = 32;   // largest number of limits other than joint ranges in one step

void find_levels(SolverData& solver) {
  StrictState& t = solver.strict_state;
  t.level_rows.clear();
  t.level_goals.clear();
  int level = -1;
  for (std::size_t g = 0; g < solver.goals.size(); ++g) {
    if (g > 0 && solver.goals[g].level == level) continue;
    level = solver.goals[g].level;
    t.level_rows.push_back(solver.goals[g].first_row);
    t.level_goals.push_back(static_cast<int>(g));
  }
  t.level_rows.push_back(solver.n_rows);
  t.level_goals.push_back(static_cast<int>(solver.goals.size()));
}

void allot_strict(SolverData& solver, std::size_t placements) {
  find_levels(solver);
  StrictState& t = solver.strict_state;
  HierarchyWork<double>& w = t.work;
  const auto q = static_cast<std::size_t>(solver.n_q), m = static_cast<std::size_t>(solver.n_rows);
  const std::size_t g = solver.goals.size(), n_limits = solver.limits.size(), levels = t.level_rows.size();
  const std::size_t near = n_limits < most_near ? n_limits : most_near, all = m + near;
  w.n = solver.n_v;
  w.stride = hierarchy_stride(solver.n_v);
  w.most_rows = static_cast<int>(all);
  w.most_held = solver.n_v + 1 < most_held ? solver.n_v + 1 : most_held;
  const auto held = static_cast<std::size_t>(w.most_held);
  const auto stride = static_cast<std::size_t>(w.stride);
  const auto point = [&](StrictPoint& p) {
    return std::vector<Part>{
        {&p.q, q},           {&p.rows, m},       {&p.errors, 2 * g}, {&p.room, 2 * m}, {&p.placements, placements},
        {&p.gaps, n_limits}, {&p.costs, levels}, {&p.measured, q}};
  };
  std::vector<Part> parts = {
      {&w.scale, stride},
      {&w.turn, stride},
      {&w.rows, all * stride},
      {&w.r, all},
      {&w.basis, (all + held + 1) * stride},
      {&w.L, all * all},
      {&w.normal, all * (all + 1) / 2},
      {&w.pivots, all},
      {&w.y, all},
      {&w.rho, all},
      {&w.x, stride},
      {&w.z, stride},
      {&w.held, stride},
      {&w.trial, stride},
      {&w.gradient, stride},
      {&w.parts, held},
      {&w.force, held + 1},
      {&w.wanted_force, held + 1},
      {&t.error_guard, 2 * g},
      {&t.error_bar, 2 * g},
      {&t.cost_guard, levels},
      {&t.wanted, stride},
      {&t.frozen_rows, m},
      {&t.start_gaps, n_limits},
      {&t.limit_rows, near * stride},
      {&t.nearest_gaps, near},
  };
  for (StrictPoint* p : {&t.here, &t.there}) {
    const std::vector<Part> more = point(*p);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  hand_out(parts.data(), parts.size(), t.memory);
  for (StrictPoint* p : {&t.here, &t.there}) {
    std::fill_n(p->gaps, n_limits, near_enough);
    p->near.assign(n_limits, 0);
    p->n_near = 0;
  }
  t.inequalities.assign(static_cast<std::size_t>(solver.n_v) + near + m, {});
  t.order.assign(all, 0);
  t.near_limits.assign(near, 0);
  t.active.assign(t.inequalities.size(), 0);
  t.resting.assign(all, 0);
  t.loose.assign(all, 0);
  t.frozen.assign(levels, 0);
  w.inequalities = t.inequalities.data();
  w.order = t.order.data();
  w.active = t.active.data();
  t.holds.assign(held + 1, 0);
  w.holds = t.holds.data();
}

// the rows that each velocity affects: those of goals in its subtree, or whose base is in its subtree
void find_runs(SolverData& solver) {
  solver.runs.assign(static_cast<std::size_t>(solver.n_v), {0, 0});
  const bool primal = solver.n_rows > solver.n_v;
  solver.row_runs.assign(primal ? static_cast<std::size_t>(solver.n_rows) : 0, {0, 0});
  solver.ones.assign(solver.row_runs.size(), 1.0);
  const auto moves = [&](int c, int first, int last) {
    Run& run = solver.runs[static_cast<std::size_t>(c)];
    run = widened<double>(run, first, last);
    for (int r = first; primal && r < last; ++r) {
      Run& row = solver.row_runs[static_cast<std::size_t>(r)];
      row = widened<double>(row, c, c + 1);
    }
  };
  for (const GoalSpec<double>& goal : solver.goals) {
    const bool whole = is_of_mass(goal.op) || goal.op == GOAL_CUSTOM;  // masses and custom rows depend on everything
    const int on = whole ? -1 : solver.frames[static_cast<std::size_t>(goal.frame)].primitive;
    const int under = whole || goal.base < 0 ? -1 : solver.frames[static_cast<std::size_t>(goal.base)].primitive;
    const int last = goal.first_row + rows_of_goal(goal);
    for (int c = 0; whole && c < solver.n_v; ++c) moves(c, goal.first_row, last);
    for (int from : {on, under}) {
      for (int i = from; i >= 0; i = solver.primitives[static_cast<std::size_t>(i)].parent) {
        const Primitive<double>& b = solver.primitives[static_cast<std::size_t>(i)];
        for (int k = 0; b.v_index >= 0 && k < width_of(b.kind); ++k) moves(b.v_index + k, goal.first_row, last);
      }
    }
  }
}

}  // namespace

void allot(SolverData& solver) {
  const auto q = static_cast<std::size_t>(solver.n_q), v = static_cast<std::size_t>(solver.n_v);
  const auto m = static_cast<std::size_t>(solver.n_rows), g = solver.goals.size();
  const auto placements = static_cast<std::size_t>(size_of_placements(static_cast<int>(solver.primitives.size())));
  const bool blocked = m > 6;
  const auto tall = static_cast<std::size_t>(tall_of<double>(solver.n_rows)),
             stride = static_cast<std::size_t>(stride_of<double>(solver.n_rows));
  SearchState<double>& s = solver.state;
  const Part parts[] = {
      {&s.q, q},
      {&s.best_q, q},
      {&s.trial_q, q},
      {&s.rows, m},
      {&s.errors, 2 * g},
      {&s.best_errors, 2 * g},
      {&s.placements, placements},
      {&s.J, m * v},
      {&s.dq, v},
      {&s.work.inverse_D, v},
      {&s.work.b, v},
      {&s.work.A, stride * stride},
      {&s.work.L, stride * stride},
      {&s.work.pivots, tall},
      {&s.work.y, tall},
      {&s.work.rhs, m},
      {&s.work.low, v},
      {&s.work.high, v},
      {&s.extra, static_cast<std::size_t>(solver.extra)},
      {&s.room, 2 * m},
      {&s.trial_rows, m},
      {&s.work.packed, !blocked ? 0
                       : m > v  ? m * static_cast<std::size_t>(stride_of<double>(solver.n_v))
                                : v * stride},
  };
  hand_out(parts, sizeof(parts) / sizeof(parts[0]), solver.memory);
  if (!solver.ranged) s.room = nullptr;
  const auto problem = solver.problem();
  solver.chain = is_chain<6>(problem) ? 6 : is_chain<7>(problem) ? 7 : 0;
  find_runs(solver);
  if (!blocked) s.work.packed = nullptr;
  s.work.runs = solver.runs.data();
  s.work.row_runs = blocked && m > v ? solver.row_runs.data() : nullptr;
  s.work.ones = solver.ones.data();
  if (solver.strict || solver.polish) allot_strict(solver, placements);
  solver.placed.assign(solver.capsules.size(), {});
  solver.own_window.assign(2 * v, 0.0);
  solver.held.assign(v, 0.0);
  solver.newton.assign(
      solver.polish || solver.strict ? 7 * static_cast<std::size_t>(hierarchy_stride(solver.n_v)) + m : 0, 0.0);
  solver.best_q.assign(q, 0.0);
  solver.start.assign(q, 0.0);
  solver.best_errors.assign(2 * g, 0.0);
  solver.kept.q.assign(q, 0.0);
  solver.kept.errors.assign(2 * g, 0.0);
}

}  // namespace poise

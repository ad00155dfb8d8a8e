// problem.cpp: a prepared problem in the precision of the lanes.
#include <cmath>

#include "kernels/methods/rules.h"
#include "run/batch/rows.h"

namespace poise {
namespace {

template <class T> Primitive<T> cast(const Primitive<double>& b, const double* origin) {
  Primitive<T> to{b.kind,    b.parent,  b.subtree_end, b.q_index, b.v_index, b.turn, b.scaled,
                  T(b.gain), T(b.bias), T(b.pitch),    {},        {},        b.curve};
  for (int k = 0; k < 9; ++k) to.R[k] = T(b.R[k]);
  for (int k = 0; k < 3; ++k) to.p[k] = T(b.p[k] - (b.parent < 0 ? origin[k] : 0.0));
  return to;
}

template <class T> FrameData<T> cast(const FrameData<double>& f, const double* origin) {
  FrameData<T> to{f.primitive, f.scaled, {}, {}};
  for (int k = 0; k < 3; ++k) to.point[k] = T(f.point[k]);
  for (int k = 0; k < 9; ++k) to.R[k] = T(f.R[k]);
  for (int k = 0; k < 3; ++k) to.p[k] = T(f.p[k] - (f.primitive < 0 ? origin[k] : 0.0));
  return to;
}

template <class T> GoalSpec<T> cast(const GoalSpec<double>& g, int target) {
  GoalSpec<T> to{};
  to.op = g.op;
  to.level = g.level;
  to.frame = g.frame;
  to.base = g.base;
  to.first_row = g.first_row;
  to.target = target;
  to.local = g.local;
  to.exact = g.exact;
  to.n_rows = g.n_rows;
  to.first_point = g.first_point;
  to.n_points = g.n_points;
  for (int k = 0; k < 6; ++k) to.weight[k] = T(g.weight[k]);
  for (int k = 0; k < 2; ++k) to.tolerance[k] = T(g.tolerance[k]);
  for (int k = 0; k < 3; ++k) to.axis[k] = T(g.axis[k]);
  return to;
}

// a bound rounded inwards, so that a value within it in T is also within it in double
template <class T> T inward(double bound, double direction) {
  T x = T(bound);
  if ((double(x) - bound) * direction < 0) x = std::nextafter(x, T(direction) * T(INFINITY));
  return x;
}

template <class T> Freedom<T> cast(const Freedom<double>& f) {
  return {f.q_index, f.angular, inward<T>(f.lower, 1.0), inward<T>(f.upper, -1.0), T(f.weight), T(f.unit2)};
}

}  // namespace

template <class T> LaneProblem<T>::LaneProblem(const SolverData& solver) {
  // in float, lengths are measured from the first joint, so that a body far from the world's origin keeps its precision
  if (sizeof(T) == 4 && !solver.primitives.empty()) {
    for (int k = 0; k < 3; ++k) origin[k] = solver.primitives[0].p[k];
  }
  for (const auto& b : solver.primitives) primitives.push_back(cast<T>(b, origin));
  for (const auto& f : solver.frames) frames.push_back(cast<T>(f, origin));
  for (const auto& g : solver.goals) {
    goals.push_back(cast<T>(g, n_targets));
    n_targets += g.op == GOAL_BALANCE ? 13 : 12;  // its margin is the last
  }
  for (const auto& part : solver.masses) {
    const bool fixed = masses.size() + 1 == solver.masses.size();
    masses.push_back({T(part.mass), {}});
    for (int k = 0; k < 3; ++k) masses.back().moment[k] = T(part.moment[k] - (fixed ? part.mass * origin[k] : 0.0));
  }
  for (const auto& f : solver.freedoms) freedoms.push_back(cast<T>(f));
  for (double x : solver.posture_wanted) posture_wanted.push_back(T(x));
  for (double x : solver.posture_gain) posture_gain.push_back(T(x));
  view = {
      {primitives.data(), nullptr, static_cast<int>(primitives.size()), solver.n_q, solver.n_v, solver.shared_columns},
      {goals.data(), frames.data(), static_cast<int>(goals.size())},
      solver.coordinates.data(),
      static_cast<int>(solver.coordinates.size()),
      freedoms.data(),
      solver.n_q,
      solver.n_v,
      solver.n_rows,
      T(solver.scale)};
  const Settings<double>& s = solver.settings;
  settings = {s.method,    s.limits,      T(s.damping),     T(s.damping_floor), T(s.reach),
              s.max_steps, s.stall_steps, T(s.stall_ratio), s.rounds,           {}};
  if (sizeof(T) == 4) {
    // Poses are checked in double afterwards, so the search aims at half the tolerance. Several rounds per step would
    // cost a whole pack, or a warp, the time of one lane, and float recomputes the matrix in each; they save no steps
    // (Panda: 12.90 steps with one round, 12.83 with three).
    fraction = T(0.5);
    settings.rounds = s.rounds < 1 ? s.rounds : 1;
    settings.max_steps = s.max_steps < 1 << 23 ? s.max_steps : 1 << 23;  // beyond the precision of float
  }
}

template struct LaneProblem<double>;
template struct LaneProblem<float>;

bool threads_serve(const SolverData& solver) {
  const bool loops = !solver.goals.empty() && solver.goals[0].level < 0;  // their rows do not belong to goals
  return !loops && !solver.custom_rows && (!solver.first || !solver.first->custom_rows);
}

namespace {

// `device`: a GPU also supports directions, one balance and a second priority
Refused refused_by_kernels(const SolverData& solver, bool device) {
  int other = solver.goals.empty() ? 0 : solver.goals[0].level;
  bool balanced = false;
  for (std::size_t g = 0; g < solver.goals.size(); ++g) {
    const auto& goal = solver.goals[g];
    const int at = static_cast<int>(g);
    if (goal.level < 0) return {Refusal::LOOP, at};
    const bool second = goal.op == GOAL_BALANCE && balanced;
    balanced = balanced || goal.op == GOAL_BALANCE;
    if (second || (!is_plain(goal.op) && !(device && (is_direction(goal.op) || goal.op == GOAL_BALANCE))))
      return {Refusal::GOAL_KIND, at};
    if (goal.ranged) return {Refusal::GOAL_RANGE, at};
    if (goal.level != solver.goals[0].level && (!device || (other != solver.goals[0].level && goal.level != other)))
      return {Refusal::GOAL_LEVEL, at};
    if (goal.level != solver.goals[0].level) other = goal.level;
  }
  if (solver.settings.method != METHOD_LM) return {Refusal::METHOD};
  if (workspace_of_method(solver.settings.method, solver.settings.limits, 1, 1) != 0) return {Refusal::HANDLING};
  if (!solver.cones.empty()) return {Refusal::CONE, -1, solver.cones[0].q_index};
  if (!solver.limits.empty()) return {Refusal::LIMIT};
  if (solver.posture_power != 2) return {Refusal::POWER};
  if (solver.mode == Mode::CONTINUOUS) return {Refusal::MODE};
  if (solver.time_limit >= 0.0) return {Refusal::TIME};
  if (solver.record) return {Refusal::RECORD};
  if (solver.n_v == 0) return {Refusal::STILL};
  return {};
}

}  // namespace

Refused refused_by_device(const SolverData& solver) {
  const Refused refused = refused_by_kernels(solver, true);
  if (refused.cause != Refusal::NONE) return refused;
  for (const Primitive<double>& b : solver.primitives) {
    if (is_path(b)) return {Refusal::PATH_JOINT, -1, b.q_index};
    if (is_scale(b)) return {Refusal::SCALE_JOINT, -1, b.q_index};
  }
  return {};
}

bool device_serves(const SolverData& solver) { return refused_by_device(solver).cause == Refusal::NONE; }

bool lanes_serve(const SolverData& solver) {
  return refused_by_kernels(solver, false).cause == Refusal::NONE && !solver.strict;
}

bool limited_lanes_serve(const SolverData& solver) {
  const SolverData* free = solver.first;
  const bool sought = solver.mode != Mode::CONTINUOUS && solver.searches > 1 && !(solver.settings.reach < 1.0);
  return free && sought && !solver.limits.empty() && solver.posture_gain.empty() &&
         free->goals.size() == solver.goals.size() && lanes_serve(*free) && lanes_pay(*free) &&
         !(free->branches && free->branches->exact);
}

// with more rows than velocities, the primal system of single problems is much faster
bool lanes_pay(const SolverData& solver) { return solver.n_rows <= 6 || solver.n_rows <= solver.n_v; }

}  // namespace poise

// find.h: a pose that keeps the limits, found without them. Part of solve.cpp.
//
// Only the answer must keep the limits, not the poses of a search. Candidates are poses that reach the goals of the
// first level: the end of a search without the limits, the poses that a closed form lists, the ends of searches from
// seeds and, if all listed poses collide, the end of a descent with the limits from the least deep one. The strict solve
// begins at the first candidate that keeps the limits, nearest to the start first; with a posture, at the listed one
// that the posture prefers, also if there are no limits. With a step limit the path from the start counts as well, so no
// candidate is sought.
#pragma once
#include <utility>

#include "kernels/methods/turns.h"
#include "run/keeping.h"
#include "run/listed.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

bool may_find(const SolverData& solver) {
  const bool chosen = !solver.posture_gain.empty() && solver.first && solver.first->branches;   // by the posture
  const bool proved = solver.proved_unreachable && solver.strict_state.level_rows.size() == 2;  // the first level
  return solver.first && (chosen || !solver.limits.empty()) && solver.mode != Mode::CONTINUOUS && solver.searches > 1 &&
         solver.n_v > 0 && !(solver.settings.reach < 1.0) && !proved;
}

// Searches once without the limits; true if it reaches.
bool search_freely(SolverData& free, int search, Clock::time_point begun) {
  restart(free);
  if (search > 0) seed_start(free, static_cast<unsigned>(search), free.state.q);
  search_once(free, false, begun);
  return free.state.best_reached;
}

// Makes a known pose, if any, the end of the last search without the limits; true if there is one.
bool take_end(SolverData& free, const S* q) {
  if (q) copy_configuration(free.problem(), q, free.state.best_q);
  return free.state.best_reached = q != nullptr;
}

// Takes the motion of a joint by v off a target: E^-1 T, or T E^-1 for a joint behind the chain.
void take_off(const SampledAxis& joint, S v, S* T) {
  const FamilyAxis<S>& axis = joint.axis;
  S R[9], way[3], at[3];  // of the inverse motion: R x + way
  rotation_about(axis.h, axis.slides ? 0.0 : -v, R);
  rotate(R, axis.p, at);
  for (int k = 0; k < 3; ++k) way[k] = axis.slides ? -v * axis.h[k] : axis.p[k] - at[k];
  if (joint.behind) {
    rotate(T, way, way);
    multiply(T, R, R);
    std::copy_n(R, 9, T);
  } else {
    rotate(R, T + 9, T + 9);
    multiply(R, T, T);
  }
  for (int k = 0; k < 3; ++k) T[9 + k] += way[k];
}

// Prepares a list of the poses of the only goal. The joints outside its chain are as at the start, those of a sampled
// form at spread values after the first sample.
void begin_list(SolverData& solver, const SolverData& free, const SampledForm* sampled, unsigned sample) {
  solver.listed.from = solver.start;
  if (free.goals[0].op == GOAL_POSE) std::copy_n(free.targets.data() + free.goals[0].target, 12, solver.listed.target);
  for (std::size_t i = 0; sampled && i < sampled->axes.size(); ++i) {
    const SampledAxis& joint = sampled->axes[i];
    S& x = solver.listed.from[static_cast<std::size_t>(joint.q_index)];
    for (int c = 0; c < free.n_v; ++c) {
      const Freedom<S>& f = free.freedoms[static_cast<std::size_t>(c)];
      if (f.q_index == joint.q_index)
        x = sample > 0 ? seed_value(free, sample, c, 1.0) : minimum(maximum(x, f.lower), f.upper);
    }
    take_off(joint, joint.gain * x + joint.bias, solver.listed.target);
  }
}

// Lists the poses of the only goal, in the order in which they are tried; returns their number.
int list_candidates(SolverData& solver, const SolverData& free, const ClosedForm<double>& form, int values) {
  ListMemory& memory = solver.listed;
  const ListedJoints joints = measure_joints(free, form);
  reserve_list(form, solver.start.size(), memory);
  const bool posed = !solver.posture_gain.empty();
  double near[7];  // for an angle, the equivalent value nearest to this
  read_joints(joints, posed ? solver.posture_wanted.data() : solver.start.data(), near);
  ListedRow row{memory.poses.data(), 0, static_cast<int>(memory.poses.size())};
  const int count = ask_poses(form, memory.target, near, values, 0, memory.asks.data());
  list_ops().list(form.spec, joints, memory.asks.data(), count, &row);
  for (int i = 0; i < row.count; ++i) {
    const ListedPose& pose = memory.poses[static_cast<std::size_t>(i)];
    S key = pose.far;
    if (posed) {
      copy_configuration(solver.problem(), memory.from.data(), memory.q.data());
      place_joints(joints, pose.values, memory.q.data());
      key = posture_cost(solver.problem(), memory.q.data(), solver.posture(), solver.state.work.b);
    }
    memory.order[static_cast<std::size_t>(i)] = {key, pose.branch, i, false};
  }
  std::sort(memory.order.begin(), memory.order.begin() + row.count,
            [](const ListedPlace& a, const ListedPlace& b) { return a.far != b.far ? a.far < b.far : a.at < b.at; });
  return row.count;
}

// Whether the listed poses are all that may reach the goal: no other joint moves, and no tolerance is wide.
bool lists_all(const SolverData& solver, const ClosedForm<double>& form) {
  return solver.n_v == form.joints && !solver.loose;
}

// The result of a list: a pose that keeps the limits, none, or none because all poses of the goal are in collision.
enum class Listing : int { FOUND, EMPTY, MISSED, BLOCKED };

// Writes the configuration of a listed pose.
void read_listed(SolverData& solver, const ListedJoints& joints, int i, double* q) {
  const ListedPlace& place = solver.listed.order[static_cast<std::size_t>(i)];
  copy_configuration(solver.problem(), solver.listed.from.data(), q);
  place_joints(joints, solver.listed.poses[static_cast<std::size_t>(place.at)].values, q);
}

// Makes the first listed pose that keeps the limits the start.
Listing start_at_listed(SolverData& solver, const SolverData& free, const ClosedForm<double>& form, int values,
                        Suspect& suspect, Clock::time_point begun) {
  const int count = list_candidates(solver, free, form, values);
  const ListedJoints joints = measure_joints(free, form);
  double* q = solver.listed.q.data();
  int colliding = 0;
  for (int i = 0; i < count && !late(solver, begun); ++i) {
    read_listed(solver, joints, i, q);
    const Keeping keeping = check_limits(solver, q, suspect);
    colliding += keeping == Keeping::COLLIDES;
    if (keeping == Keeping::KEPT) {
      copy_configuration(solver.problem(), q, solver.start.data());
      return Listing::FOUND;
    }
    if (i == 0 && is_blocked(solver, suspect)) {
      solver.colliding = count;
      return Listing::BLOCKED;
    }
    if (keeping == Keeping::COLLIDES) keep_less_deep(solver, q, suspect);
  }
  solver.colliding = colliding == count && lists_all(solver, form) ? count : 0;
  return count > 0 ? Listing::MISSED : Listing::EMPTY;
}

// Descends with the limits from strict_state.here, and makes the result the start if it keeps them and reaches the first
// level.
bool leave_collision(SolverData& solver, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  double* q = solver.listed.q.data();
  t.assembled = nullptr;
  ++solver.total_searches;
  evaluate_point(solver, t.here, 0);
  set_bars(solver, 0, Bars::TOLERANCE);
  if (!descend(solver, 0, Descent::LEAVE, begun)) return false;
  copy_configuration(solver.problem(), t.here.q, q);
  if (!keeps_all(solver, q)) return false;
  copy_configuration(solver.problem(), q, solver.start.data());
  return true;
}

// Writes the least deep of the listed poses, all in collision, to strict_state.here; returns its gap [m].
S find_least_deep(SolverData& solver, const SolverData& free, int count, Clock::time_point begun) {
  const ListedJoints joints = measure_joints(free, free.closed[0]);
  double* q = solver.listed.q.data();
  Suspect suspect;
  S best = -HUGE_VAL;
  for (int i = 0; i < count && !late(solver, begun); ++i) {
    read_listed(solver, joints, i, q);
    const S gap = measure_gap(solver, q, best, suspect);
    if (!(gap > best)) continue;
    best = gap;
    copy_configuration(solver.problem(), q, solver.strict_state.here.q);
  }
  return best;
}

// If all listed poses collide: searches between them, then within the tolerance of the goal. Makes a pose that keeps
// the limits the start. Otherwise it is open whether all poses collide, if the least deep one is within the tolerance.
bool leave_listed(SolverData& solver, const SolverData& free, Clock::time_point begun) {
  const int count = std::exchange(solver.colliding, 0);
  const GoalSpec<S>& goal = solver.goals[0];
  const bool curved = free.closed[0].spec.free_joint != FREE_NONE;
  const S tolerance = goal.tolerance[0] + goal.tolerance[1] * solver.scale;
  const S gap = curved ? ArcPoses(solver, free).find_room(begun) : find_least_deep(solver, free, count, begun);
  if (gap > -tuning.leads_out * tolerance && leave_collision(solver, begun)) return true;
  if (late(solver, begun)) return false;
  if (gap < -tolerance)
    solver.colliding = count;
  else
    solver.nearly_clear = solver.tries == 1;
  return false;
}

// Makes the end of the last search without the limits the start, if it keeps them.
bool start_at_end(SolverData& solver, const SolverData& free, Suspect& suspect) {
  if (!free.state.best_reached || check_limits(solver, free.state.best_q, suspect) != Keeping::KEPT) return false;
  copy_configuration(solver.problem(), free.state.best_q, solver.start.data());
  return true;
}

// Lists the poses of the only goal, with a free joint first at few values. A batch tests no poses but these.
Listing list_poses(SolverData& solver, SolverData& free, bool reached, Suspect& suspect, Clock::time_point begun) {
  const ClosedForm<double>& form = free.closed[0];
  const bool all = form.spec.free_joint == FREE_NONE;
  Listing found = start_at_listed(solver, free, form, values_for(form, 1), suspect, begun);
  if (!all && (found == Listing::EMPTY || (found == Listing::MISSED && solver.colliding == 0)))
    found = start_at_listed(solver, free, form, finer_values, suspect, begun);
  if (found == Listing::MISSED && solver.colliding > 0 && leave_listed(solver, free, begun)) return Listing::FOUND;
  if (found == Listing::EMPTY && !reached)
    solver.proved_unreachable = decide_goals(free, free.targets.data(), solver.listed.q.data()) == Verdict::PROVED;
  const bool last = (all && lists_all(solver, form)) || solver.proved_unreachable || solver.nearly_clear ||
                    (solver.colliding > 0 && solver.tries == 1);
  return found == Listing::MISSED && last ? Listing::BLOCKED : found;
}

// Lists poses of the only goal at spread values of the joints outside the chain of its closed form, and now and then
// tries to leave the least deep collision.
Listing list_sampled(SolverData& solver, const SolverData& free, Suspect& suspect, Clock::time_point begun) {
  const int samples = count_tries(solver, tuning.samples);
  suspect.keeps = true;
  for (int i = 0; i < samples && !late(solver, begun); ++i) {
    begin_list(solver, free, free.sampled.get(), static_cast<unsigned>(i));
    const Listing found = start_at_listed(solver, free, free.sampled->form, tuning.sampled_values, suspect, begun);
    if (found == Listing::FOUND || found == Listing::BLOCKED) return found;
    if (((i + 1) % tuning.samples_between != 0 && i + 1 != samples) || !(suspect.least > -HUGE_VAL)) continue;
    suspect.least = -HUGE_VAL;
    if (leave_collision(solver, begun)) return Listing::FOUND;
  }
  return Listing::MISSED;
}

bool find_candidate(SolverData& solver, SolverData& free, Clock::time_point begun) {
  Suspect suspect;
  begin_list(solver, free, nullptr, 0);
  if (solver.limits.empty())
    return start_at_listed(solver, free, free.branches->form, 0, suspect, begun) == Listing::FOUND;
  const bool posed = !solver.posture_gain.empty();
  if (!posed && free.branches && free.branches->exact) {
    const Listing nearest = start_at_listed(solver, free, free.branches->form, 0, suspect, begun);
    if (nearest == Listing::FOUND || nearest == Listing::BLOCKED) return nearest == Listing::FOUND;
  }
  const bool reached = solver.searched ? take_end(free, solver.known_end) : search_freely(free, 0, begun);
  if (!posed && start_at_end(solver, free, suspect)) return true;
  find_more_proofs(free);
  if (!reached && decide_at_once(free, free.targets.data())) {
    solver.proved_unreachable = true;
    return false;
  }
  solver.colliding = reached && is_blocked(solver, suspect);
  if (solver.colliding > 0) return false;
  if (free.sampled) {
    const Listing found = list_sampled(solver, free, suspect, begun);
    if (found != Listing::MISSED) return found == Listing::FOUND;
  }
  if (lists_serve(free)) {
    const Listing found = list_poses(solver, free, reached, suspect, begun);
    if (found == Listing::FOUND) return true;
    if (found == Listing::BLOCKED || solver.proved_unreachable) return posed && start_at_end(solver, free, suspect);
  }
  if (posed && start_at_end(solver, free, suspect)) return true;
  const int searches = count_tries(solver, tuning.free_searches);
  for (int search = 1; search < searches && !late(solver, begun); ++search) {
    if (search_freely(free, search, begun) && start_at_end(solver, free, suspect)) return true;
  }
  if (solver.colliding == 0 || !lists_serve(free)) return false;
  return find_least_deep(solver, free, solver.colliding, begun) > -HUGE_VAL && leave_collision(solver, begun);
}

// Replaces the start by a pose that reaches the first level and keeps the limits; true if one is found.
bool find_start(SolverData& solver, Clock::time_point begun) {
  SolverData& free = *solver.first;
  free.start = solver.start;
  for (std::size_t k = 0; k < free.targets.size(); ++k) free.targets[k] = solver.targets[k];
  begin_watch(free);
  begin(free);
  solver.proved_unreachable = free.proved_unreachable;
  if (free.proved_unreachable) return false;
  const bool found = find_candidate(solver, free, begun);
  if (found) solver.colliding = 0;
  solver.total_steps += free.total_steps;
  solver.total_searches += free.total_searches;
  return found;
}

// Makes the found start the answer if it reaches every goal and nothing is left to improve; true if so.
bool answer_at_start(SolverData& solver) {
  const StrictPoint& p = solver.strict_state.there;
  const auto problem = solver.problem();
  if (solver.record || solver.custom_rows || !solver.posture_gain.empty()) return false;
  if (!within_tolerance(problem, p.errors, 1.0) || outside_of(problem, solver.settings, p.q) > 0.0) return false;
  std::copy_n(p.q, solver.best_q.size(), solver.best_q.begin());
  std::copy_n(p.errors, solver.best_errors.size(), solver.best_errors.begin());
  solver.winner = ++solver.total_searches;
  solver.best_outside = solver.best_cost = 0.0;
  solver.outcome = Outcome::REACHED;
  return true;
}

// Makes the start, inside the ranges, the answer of a row of a batch if all listed poses of its goal collide; false if
// that breaks a limit.
bool answer_blocked(SolverData& solver) {
  if (!is_hopeless(solver) || (solver.colliding == 0 && !solver.nearly_clear)) return false;
  double* q = solver.best_q.data();
  std::copy_n(solver.start.data(), solver.best_q.size(), q);
  for (const Freedom<S>& f : solver.freedoms) {
    if (f.q_index >= 0 && solver.settings.limits != LIMITS_OFF)
      q[f.q_index] = minimum(maximum(q[f.q_index], f.lower), f.upper);
  }
  if (!keeps_all(solver, q)) return false;
  std::copy_n(solver.strict_state.there.errors, solver.best_errors.size(), solver.best_errors.begin());
  solver.winner = 0;
  solver.best_outside = solver.best_cost = 0.0;
  solver.outcome = Outcome::STALLED;
  return true;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise

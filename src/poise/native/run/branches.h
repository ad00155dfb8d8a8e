// branches.h: a solve of six joints with a closed form: it begins at the nearest branch. Part of solve.cpp.
//
// The branches are all poses of the goal. The nearest one inside the ranges is the first step of the first search,
// which usually ends there. Branches that end, or leave a range, by less than the tolerances are tried in their turn.
// Near a singular pose a branch stands for a curve of poses: a search from the start may find a nearer one. The nearest
// end that reaches is kept; the distance is the largest motion of a joint.
#pragma once
#include "kernels/algebra/twin.h"
#include "run/branch_lists.h"
#include "run/search.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr double near_range = 0.5;  // rad or lengths: the motion within which a start close to its target is served

struct NearBranches {
  ListedPose poses[8];
  int count = 0;
  S sure = HUGE_VAL;  // the distance of the nearest one that is known to exist

  // the nearest pose; null if none is left
  ListedPose* nearest() {
    ListedPose* best = nullptr;
    for (int i = 0; i < count; ++i) {
      if (poses[i].far < (best ? best->far : HUGE_VAL)) best = &poses[i];
    }
    return best;
  }
};

// The query of the only goal, within its tolerances if the branches are all its poses.
FamilyTarget<S> target_of_branches(const SolverData& solver) {
  constexpr S none[3] = {0.0, 0.0, 0.0};
  const GoalSpec<S>& goal = solver.goals[0];
  return target_of<S>(solver.targets.data() + goal.target, none, solver.branches->exact ? goal.tolerance : none);
}

// Whether a leaf is a pose for every target within the tolerances.
bool is_sure(const FamilyChain<S>& chain, const FamilyLeaf<S>& leaf) {
  bool sure = leaf.certain;
  for (int j = 0; j < 6; ++j) sure = sure && surely_inside(chain.axes[j], leaf.turn[j]);
  return sure;
}

// Whether a joint of a leaf is outside its range for every target within the tolerances.
bool is_outside(const FamilyChain<S>& chain, const FamilyLeaf<S>& leaf) {
  for (int j = 0; j < 6; ++j) {
    if (excess_of_range(chain.axes[j], leaf.turn[j]) > 0.0) return true;
  }
  return false;
}

// Narrows the ranges of a walk to the motion `far` from the start: it drops branches that are farther, whole turns aside.
void narrow_ranges(const BranchStart& own, const S* start, S far, FamilyChain<S>& chain) {
  for (int j = 0; j < 6; ++j) {
    const int k = own.form.spec.backwards ? 5 - j : j;
    chain.axes[j].middle = own.form.gain[k] * start[k] + own.form.bias[k];
    chain.axes[j].half = far * own.joints.unit[k] * absolute(own.form.gain[k]);
  }
}

// Lists the branches up to the distance `most`. Those farther from the start than one that surely exists are left out.
NearBranches list_nearest(const SolverData& solver, S most) {
  const BranchStart& own = *solver.branches;
  const FamilySpec<S>& spec = own.form.spec;
  S start[7];
  read_joints(own.joints, solver.start.data(), start);
  NearBranches out;
  FamilyChain<S> chain = spec.chain;
  if (most < HUGE_VAL) narrow_ranges(own, start, most, chain);
  walk_branches(chain, ask_of(question_of(spec, target_of_branches(solver)), 0.0, 0.0), 1, all_branches,
                [&](const FamilyLeaf<S>& leaf) {
                  if (is_outside(spec.chain, leaf)) return false;
                  ListedPose& pose = out.poses[out.count++];
                  place_leaf(own.joints, spec, leaf, S(0), start, pose.values, pose.far);
                  pose.open = measure_open(own.joints, spec, leaf, start, pose.values);
                  if (pose.far < out.sure && is_sure(spec.chain, leaf))
                    narrow_ranges(own, start, out.sure = pose.far, chain);
                  return out.count == 8;
                });
  return out;
}

// Lists all branches. With three parallel axes few are dropped before their last joint, so that all of them in lanes take
// less time. Branches of a wrist are dropped early, and short registers have too few lanes.
NearBranches list_branches(const SolverData& solver) {
  constexpr bool wide = POISE_REGISTER_BYTES >= 32;
  const BranchStart& own = *solver.branches;
  if constexpr (wide) {
    if (own.form.spec.chain.plan == PLAN_PLANAR) {
      NearBranches out;
      S start[7];
      read_joints(own.joints, solver.start.data(), start);
      out.count = list_near<Twin<Pack<S, 4>>>(own, target_of_branches(solver), start, out.poses);
      return out;
    }
  }
  return list_nearest(solver, HUGE_VAL);
}

// Writes the start with its joints at the nearest branch to q; false if there is no branch.
bool place_nearest(const SolverData& solver, S* q) {
  NearBranches list = list_branches(solver);
  const ListedPose* pose = list.nearest();
  if (pose) place_joints(solver.branches->joints, pose->values, q);
  return pose != nullptr;
}

// the largest motion of a joint from the start
S measure_way(const SolverData& solver, const S* q) {
  const ListedJoints& joints = solver.branches->joints;
  S far = 0.0;
  for (int k = 0; k < joints.count; ++k) {
    const auto at = static_cast<std::size_t>(joints.q_index[k]);
    far = maximum(far, absolute(q[at] - solver.start[at]) / joints.unit[k]);
  }
  return far;
}

// Runs a search from state.q and keeps its end, unless a pose that reaches is kept already at most `far` from the start.
void search_nearer(SolverData& solver, int steps, S& far, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  begin_search(solver.problem(), s);
  s.steps = steps;
  solver.out_of_time = run(solver, begun);
  const S own = s.best_reached ? measure_way(solver, s.best_q) : HUGE_VAL;
  if (far < HUGE_VAL && !(own < far)) {
    solver.total_steps += s.steps;
    return;
  }
  keep(solver, solver.total_searches == 1);
  far = own;
}

// Searches from the branches; true if the nearest pose is kept. The start itself is kept if it reaches.
bool search_branches(SolverData& solver, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  restart(solver);
  solver.total_searches = 1;
  advance(solver);
  if (s.best_reached) keep(solver, true);
  if (s.best_reached) return true;
  const bool near = s.errors[0] < near_range * solver.scale && s.errors[1] < near_range;
  NearBranches list = near ? list_nearest(solver, near_range) : list_branches(solver);
  if (near && !(list.sure < near_range)) list = list_branches(solver);
  S far = HUGE_VAL, open = HUGE_VAL;
  for (int i = 0; i < list.count; ++i) open = minimum(open, list.poses[i].open);
  int tried = 0;
  // ends: every round takes a pose from the list
  for (ListedPose* pose; (pose = list.nearest()) && pose->far < far && !solver.out_of_time; pose->far = HUGE_VAL) {
    solver.total_searches += tried++ > 0;
    copy_configuration(solver.problem(), solver.start.data(), s.q);
    place_joints(solver.branches->joints, pose->values, s.q);
    search_nearer(solver, 1, far, begun);
    if (!solver.branches->exact) break;
  }
  if (open < far && far < HUGE_VAL && !solver.out_of_time) {
    restart(solver);
    ++solver.total_searches;
    search_nearer(solver, 0, far, begun);
  }
  if (tried == 0) begin(solver);
  return far < HUGE_VAL || solver.out_of_time;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise

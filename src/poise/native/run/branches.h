// branches.h: a solve of six joints with a closed form: it begins at the nearest branch. Part of solve.cpp.
//
// The branches are all poses of the goal. The nearest one inside the ranges is the first step of the first search,
// which usually ends there. Branches that end, or leave a range, by less than the tolerances are tried in their turn.
// Near a singular pose a branch stands for a curve of poses: a search from the start may find a nearer one. The nearest
// end that reaches is kept; the distance is the largest motion of a joint.
#pragma once
#include "run/listed.h"
#include "run/search.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

struct NearBranches {
  ListedPose poses[8];
  int count = 0;

  // the nearest pose; null if none is left
  ListedPose* nearest() {
    ListedPose* best = nullptr;
    for (int i = 0; i < count; ++i) {
      if (poses[i].far < (best ? best->far : HUGE_VAL)) best = &poses[i];
    }
    return best;
  }
};

// Lists the branches of the only goal, within its tolerances if they are all its poses.
NearBranches list_branches(const SolverData& solver) {
  const BranchStart& own = *solver.branches;
  const GoalSpec<S>& goal = solver.goals[0];
  constexpr S none[3] = {0.0, 0.0, 0.0};
  const FamilyTarget<S> target =
      target_of<S>(solver.targets.data() + goal.target, none, own.exact ? goal.tolerance : none);
  S start[7];
  read_joints(own.joints, solver.start.data(), start);
  NearBranches out;
  out.count = list_ops().list_near(own, target, start, out.poses);
  return out;
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
  NearBranches list = list_branches(solver);
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

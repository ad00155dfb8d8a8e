// listed.h: the poses of a goal that has a closed form: every branch, of a chain with a free joint at values all over its range. They take
// the place of searches from seeds where several answers are asked for.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/closed/form.h"
#include "memory/solver_data.h"

namespace poise {

constexpr double whole_turn = 2.0 * one_pi;
constexpr double half_turn =
    0.5 + 1e-9;  // of a turn: what is as near on both sides is the lower one, whatever the last bits are

// an angle moved by whole turns: inside the range where that is possible, and there as near as can be
inline double bring_near(const FamilyAxis<double>& axis, double v, double near) {
  if (axis.slides) return v;
  const double low = axis.middle - axis.half, high = axis.middle + axis.half;
  double close = v + whole_turn * std::ceil((near - v) / whole_turn - half_turn);
  if (close > high) close -= whole_turn * std::ceil((close - high) / whole_turn - 1e-12);
  if (close >= low) return close;
  const double up = close + whole_turn * std::ceil((low - close) / whole_turn - 1e-12);
  return up <= high + 1e-9 || low - close >= up - high ? up : close;
}

// One pose: values of the chain's joints, the longest way of one from the start, and whether no other of its branch is nearer.
struct ListedPose {
  double far;
  int branch;
  bool nearest;
  double values[7];
};

// How many values of a free joint are looked at for so many answers, besides the start's own.
inline int values_for(const ClosedForm<double>& form, int solutions) {
  if (form.spec.free_joint == FREE_NONE) return 0;
  return std::min(64, std::max(16, solutions / 8));
}

// the most that can be listed
inline std::size_t most_listed(const ClosedForm<double>& form, int solutions) {
  return 8 * static_cast<std::size_t>(values_for(form, solutions) + FamilyScan<double>::most + 1);
}

// Whether branches are all that the goals can have: there is one goal, and it has a closed form.
inline bool lists_serve(const SolverData& solver) {
  return solver.goals.size() == 1 && solver.closed.size() == 1 && solver.closed[0].goal == 0;
}

// the values that a pose has for the chain's joints
inline void read_joints(const ClosedForm<double>& form, const double* q, double* values) {
  for (int k = 0; k < form.joints; ++k) values[k] = form.gain[k] * q[form.q_index[k]] + form.bias[k];
}

// Sets a listed pose in q, inside the ranges to the last bit.
inline void place_listed(const SolverData& solver, const ClosedForm<double>& form, const ListedPose& pose, double* q) {
  for (int k = 0; k < form.joints; ++k) {
    const FamilyAxis<double>& axis = axis_of(form.spec, k);
    const double v = minimum(maximum(pose.values[k], axis.middle - axis.half), axis.middle + axis.half);
    q[form.q_index[k]] = (v - form.bias[k]) / form.gain[k];
  }
  if (solver.settings.limits == LIMITS_OFF) return;
  for (const Freedom<double>& f : solver.freedoms) {
    if (f.q_index >= 0) q[f.q_index] = minimum(maximum(q[f.q_index], f.lower), f.upper);
  }
}

// whether no joint differs by more than `distinct` from one of the first `count` poses
inline bool is_listed(const SolverData& solver, const ClosedForm<double>& form, const ListedPose* poses,
                      std::size_t count, const ListedPose& pose, double distinct) {
  double most[7];
  for (int k = 0; k < form.joints; ++k) {
    most[k] = distinct * absolute(form.gain[k]) * (axis_of(form.spec, k).slides ? solver.scale : 1.0);
  }
  for (std::size_t i = 0; i < count; ++i) {
    int k = 0;
    // ends: after the last joint
    while (k < form.joints && absolute(poses[i].values[k] - pose.values[k]) <= most[k]) ++k;
    if (k == form.joints) return true;
  }
  return false;
}

// Appends every branch at a value of the free joint.
inline void append_branches(const SolverData& solver, const ClosedForm<double>& form,
                            const FamilyQuestion<double>& question, double value, const double* start,
                            std::vector<ListedPose>& out) {
  const FamilyAsked<double> asked = ask_of(question, value, 0.0);
  walk_branches(form.spec.chain, asked, 1, all_branches, [&](const FamilyLeaf<double>& leaf) {
    if (out.size() == out.capacity()) return true;
    ListedPose pose{0.0, leaf.branch, false, {}};
    joints_of(form.spec, leaf, value, pose.values);
    for (int k = 0; k < form.joints; ++k) {
      const FamilyAxis<double>& axis = axis_of(form.spec, k);
      pose.values[k] = bring_near(axis, pose.values[k], start[k]);
      const double unit = absolute(form.gain[k]) * (axis.slides ? solver.scale : 1.0);
      pose.far = maximum(pose.far, absolute(pose.values[k] - start[k]) / unit);
    }
    out.push_back(pose);
    return false;
  });
}

// Lists poses of the first goal that has a closed form, whose target is given, into `out`, which has room for `most_listed`: first the
// nearest of each branch, the others after them, each part by its way from the start. Branches that are outside a range, or that end, by
// less than what is tolerated are left out: to look for their poses would take longer than all others.
inline void list_poses(const SolverData& solver, const double* target, const double* start, int solutions,
                       std::vector<ListedPose>& out) {
  const ClosedForm<double>& form = solver.closed[0];
  out.clear();
  constexpr double none[3] = {0.0, 0.0, 0.0};
  const FamilyQuestion<double> question = question_of(form.spec, target_of<double>(target, none, none));
  double from[7];
  read_joints(form, start, from);
  if (form.spec.free_joint == FREE_NONE) {
    append_branches(solver, form, question, 0.0, from, out);
  } else {
    const double own = from[form.spec.free_joint == FREE_FIRST ? 0 : 6];
    if (absolute(turns_off(form.spec.free, own)) <= form.spec.free.half) {
      append_branches(solver, form, question, own, from, out);
    }
    const FamilyScan<double> scan = scan_of(question);
    const int cells = values_for(form, solutions);
    double at, half;
    for (int i = 0; cell_of(scan, cells, i, at, half); ++i) append_branches(solver, form, question, at, from, out);
  }
  double least[8];
  std::fill(least, least + 8, HUGE_VAL);
  for (const ListedPose& pose : out) least[pose.branch] = minimum(least[pose.branch], pose.far);
  for (ListedPose& pose : out) {
    pose.nearest = pose.far == least[pose.branch];
    if (pose.nearest) least[pose.branch] = -1.0;
  }
  std::sort(out.begin(), out.end(), [](const ListedPose& a, const ListedPose& b) {
    return a.nearest != b.nearest ? a.nearest : a.far != b.far ? a.far < b.far : a.branch < b.branch;
  });
}

}  // namespace poise

// listed.h: the poses of a goal with a closed form: every branch, at values spread over the range of a free joint if
// any. They replace searches from seeds if several answers are requested.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/closed/form.h"
#include "kernels/closed/general_chain.h"
#include "memory/scratch.h"
#include "memory/solver_data.h"
#include "run/alike.h"

namespace poise {

inline ListedJoints measure_joints(const SolverData& solver, const ClosedForm<double>& form) {
  ListedJoints out;
  out.count = form.joints;
  for (int k = 0; k < form.joints; ++k) {
    out.q_index[k] = form.q_index[k];
    out.gain[k] = form.gain[k];
    out.bias[k] = form.bias[k];
    out.unit[k] = axis_of(form.spec, k).slides ? solver.scale : 1.0;
    out.period[k] = axis_of(form.spec, k).slides ? 0.0 : whole_turn / absolute(form.gain[k]);
    if (out.period[k] > 0.0) out.long_way = minimum(out.long_way, 0.5 * out.period[k] - distinct);
    out.lower[k] = -HUGE_VAL;
    out.upper[k] = HUGE_VAL;
    if (solver.settings.limits == LIMITS_OFF) continue;
    for (const Freedom<double>& f : solver.freedoms) {
      if (f.q_index != form.q_index[k]) continue;
      out.lower[k] = f.lower;
      out.upper[k] = f.upper;
    }
  }
  return out;
}

// the value of a chain's joint in the pose: shifted by whole turns towards the start, and exactly inside the ranges
template <class S>
POISE_FN S place_joint(const ListedJoints& joints, const FamilySpec<S>& spec, int k, S value, S start) {
  const FamilyAxis<S>& axis = axis_of(spec, k);
  const bool plain = joints.gain[k] == 1.0 && joints.bias[k] == 0.0;
  const S gain = S(joints.gain[k]), bias = S(joints.bias[k]);
  S out = bring_near(axis, value, plain ? start : gain * start + bias);
  out = minimum(maximum(out, axis.middle - axis.half), axis.middle + axis.half);
  if (!plain) out = (out - bias) / gain;
  return minimum(maximum(out, S(joints.lower[k])), S(joints.upper[k]));
}

// The joints of a leaf as a pose near the start, and its largest motion from there.
template <class S> POISE_LARGE_FN void place_leaf(const ListedJoints& joints, const FamilySpec<S>& spec,
                                                  const FamilyLeaf<S>& leaf, S value, const S* start, S* values,
                                                  S& far) {
  far = S(0.0);
  joints_of(spec, leaf, value, values);
  for (int k = 0; k < joints.count; ++k) {
    values[k] = place_joint(joints, spec, k, values[k], start[k]);
    const S way = absolute(values[k] - start[k]);
    far = maximum(far, joints.unit[k] == 1.0 ? way : way / S(joints.unit[k]));
  }
}

// The least motion from the start of any pose within the uncertainties of a leaf; infinite if these are small.
template <class S> POISE_LARGE_FN S measure_open(const ListedJoints& joints, const FamilySpec<S>& spec,
                                                 const FamilyLeaf<S>& leaf, const S* start, const S* values) {
  S slack = S(0.0);
  for (int j = 0; j < 6; ++j) slack = maximum(slack, leaf.turn[j].slack);
  const mask_t<S> open = slack > S(open_branch);
  if (!any(open)) return S(HUGE_VAL);
  S slacks[7], least = S(0.0);
  slacks_of(spec, leaf, slacks);
  for (int k = 0; k < joints.count; ++k) {
    const S moved = absolute(values[k] - start[k]) - slacks[k] / absolute(S(joints.gain[k]));
    least = maximum(least, moved / S(joints.unit[k]));
  }
  return select(open, least, S(HUGE_VAL));
}

// The number of values of a free joint to try for a number of answers, in addition to the start's own.
inline int values_for(const ClosedForm<double>& form, int solutions) {
  if (form.spec.free_joint == FREE_NONE) return 0;
  return std::min(64, std::max(16, solutions / 8));
}
constexpr int finer_values = 128;  // used if none of these has a pose

// the largest number of queries of one row
inline std::size_t most_asked(const ClosedForm<double>& form) {
  return form.spec.free_joint == FREE_NONE ? 1 : finer_values + FamilyScan<double>::most + 1;
}

// the largest number of listed poses
inline std::size_t most_listed(const ClosedForm<double>& form) { return 8 * most_asked(form); }

// Makes room for every list of a form; once for each solver.
inline void reserve_list(const ClosedForm<double>& form, std::size_t n_q, ListMemory& memory) {
  memory.asks.resize(most_asked(form));
  memory.poses.resize(most_listed(form));
  memory.order.resize(memory.poses.size());
  memory.q.resize(n_q);
  memory.from.resize(n_q);
}

// Whether the branches are all answers of the goals: there is one goal, and it has a closed form.
inline bool lists_serve(const SolverData& solver) {
  return solver.goals.size() == 1 && solver.closed.size() == 1 && solver.closed[0].goal == 0;
}

// the values of the chain's joints in a pose
inline void read_joints(const ListedJoints& joints, const double* q, double* values) {
  for (int k = 0; k < joints.count; ++k) values[k] = q[joints.q_index[k]];
}
inline void place_joints(const ListedJoints& joints, const double* values, double* q) {
  for (int k = 0; k < joints.count; ++k) q[joints.q_index[k]] = values[k];
}

// poses of one row, and the capacity
struct ListedRow {
  ListedPose* poses;
  int count, room;
};

// an interval of the free joint in which a branch is, or may be, inside the ranges
struct Piece {
  int branch;
  double low, high;
};

// takes the pieces of a search: `sure` if the branch is inside, otherwise it may be
struct PieceSink {
  void* to;
  void (*add)(void* to, bool sure, const Piece& piece);
};

// The start of the distances: the joint values, and the weight of a unit of each.
struct ListStart { const double *values, *scale; };

// A value of the free joint and a branch. Their pose, if it is inside the ranges: all joints near the start, their
// uncertainties, and the largest motion of a joint from the start.
struct ArcAsk {
  double value;
  int branch;
};
struct ArcPose {
  bool there;
  double value, way, joints[7], slacks[7];
};

// Functions compiled once for each instruction level.
struct ListOps {
  int lanes;  // queries answered in parallel
  // appends every branch of the queries to their rows of `out`
  void (*list)(const FamilySpec<double>& spec, const ListedJoints& joints, const ListAsk* asks, int count,
               ListedRow* out);
  // the nearest branch of each query without a free joint, to out[row]
  void (*nearest)(const FamilySpec<double>& spec, const ListedJoints& joints, const ListAsk* asks, int count,
                  NearestPose* out);
  // errors (2 per pose) of consecutive poses of the only goal; its target is `stride` numbers farther for each of them
  void (*judge)(const SolverData& solver, const double* target, int stride, const double* poses, int count,
                Scratch& scratch, double* errors);
  // the pieces of all arcs of the free joint (arcs.h); false if more than `most` cells were needed
  bool (*search_arcs)(const FamilyQuestion<double>& question, double finest, int most, const PieceSink& sink);
  // the poses at values of the free joint
  void (*place)(const FamilyQuestion<double>& question, const ListStart& start, const ArcAsk* asks, int count,
                ArcPose* out);
  // the poses of six rotations in general position, and the variants worth a search
  void (*find_general)(const RotationLoop& loop, const LoopVariants& variants, GeneralPoses& out);
  LoopVariants (*choose_variants)(RotationLoop loop);
};
const ListOps& list_ops();  // the best level that this machine supports

// Writes the queries of a row: all branches, with a free joint at the start's own value and at about `values` values
// over its range. Returns their number. Branches that exceed a range, or end, by less than the tolerance are excluded:
// searching for their poses would take longer than all others.
inline int ask_poses(const ClosedForm<double>& form, const double* target, const double* start, int values, int row,
                     ListAsk* out) {
  int count = 0;
  if (form.spec.free_joint == FREE_NONE) {
    out[count++] = {target, start, 0.0, row};
    return count;
  }
  constexpr double none[3] = {0.0, 0.0, 0.0};
  const FamilyQuestion<double> question = question_of(form.spec, target_of<double>(target, none, none));
  const int free = form.spec.free_joint == FREE_FIRST ? 0 : 6;
  const double own = form.gain[free] * start[free] + form.bias[free];
  if (absolute(turns_off(form.spec.free, own)) <= form.spec.free.half) out[count++] = {target, start, own, row};
  const FamilyScan<double> scan = scan_of(question);
  double at, half;
  for (int i = 0; cell_of(scan, values, i, at, half); ++i) out[count++] = {target, start, at, row};
  return count;
}

// Writes the order of a list: the nearest pose of each branch first, then the others, each part nearest first.
inline void arrange_poses(const ListedRow& row, ListedPlace* out) {
  double least[8];
  std::fill(least, least + 8, HUGE_VAL);
  for (int i = 0; i < row.count; ++i) {
    const ListedPose& pose = row.poses[i];
    out[i] = {pose.far, pose.branch, i, false};
    least[pose.branch] = minimum(least[pose.branch], pose.far);
  }
  for (int i = 0; i < row.count; ++i) {
    out[i].nearest = out[i].far == least[out[i].branch];
    if (out[i].nearest) least[out[i].branch] = -1.0;
  }
  std::sort(out, out + row.count, [](const ListedPlace& a, const ListedPlace& b) {
    if (a.nearest != b.nearest) return a.nearest;
    if (a.far != b.far) return a.far < b.far;
    return a.branch != b.branch ? a.branch < b.branch : a.at < b.at;
  });
}

}  // namespace poise

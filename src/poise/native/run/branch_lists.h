// branch_lists.h: the branches of many queries, one query per lane of S. S is a pack in batches, double in pages.
#pragma once
#include "kernels/closed/abreast.h"
#include "run/listed.h"

namespace poise {

// the queries in the lanes of one walk; unused lanes repeat the last query
template <class S> struct Abreast {
  FamilyTarget<S> target;
  S value, start[7];
};

template <class S> POISE_LARGE_FN Abreast<S> gather(int joints, const ListAsk* asks, int count) {
  Abreast<S> out;
  for (int lane = 0; lane < ScalarTraits<S>::lanes; ++lane) {
    const ListAsk& ask = asks[lane < count ? lane : count - 1];
    for (int k = 0; k < 9; ++k) set_lane(out.target.R[k], lane, ask.target[k]);
    for (int k = 0; k < 3; ++k) set_lane(out.target.p[k], lane, ask.target[9 + k]);
    for (int k = 0; k < joints; ++k) set_lane(out.start[k], lane, ask.start[k]);
    set_lane(out.value, lane, ask.value);
    set_lane(out.target.metres, lane, ask.metres);
    set_lane(out.target.radians, lane, ask.radians);
  }
  return out;
}

template <class S> POISE_FN bool is_closed(const FamilyLeaf<S>& leaf, int lane) {
  if constexpr (ScalarTraits<S>::lanes == 1) {
    return false;  // a walk of one query visits open leaves alone
  } else {
    return leaf.span.closed.lane(lane);
  }
}

// the lanes of a leaf that are not excluded, as poses near their starts
template <class S> POISE_LARGE_FN void append(const ListedJoints& joints, const FamilySpec<S>& spec,
                                              const Abreast<S>& at, const FamilyLeaf<S>& leaf, const ListAsk* asks,
                                              int count, ListedRow* out) {
  S values[7], far, slack;
  place_leaf(joints, spec, leaf, at.value, at.start, values, far, slack);
  for (int lane = 0; lane < count; ++lane) {
    ListedRow& row = out[asks[lane].row];
    if (is_closed(leaf, lane) || row.count == row.room) continue;
    ListedPose& pose = row.poses[row.count++];
    pose.far = lane_of(far, lane);
    pose.slack = lane_of(slack, lane);
    pose.branch = leaf.branch;
    for (int k = 0; k < joints.count; ++k) pose.values[k] = lane_of(values[k], lane);
  }
}

template <class S> POISE_LARGE_FN void list_abreast(const FamilySpec<double>& form, const ListedJoints& joints,
                                                    const ListAsk* asks, int count, ListedRow* out) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  const FamilySpec<S> spec = spread_spec<S>(form);
  for (int first = 0; first < count; first += lanes) {
    const ListAsk* own = asks + first;
    const int some = count - first < lanes ? count - first : lanes;
    const Abreast<S> at = gather<S>(joints.count, own, some);
    const FamilyQuestion<S> question = question_of(spec, at.target);
    const FamilyAsked<S> asked = ask_of(question, at.value, S(0.0));
    walk_branches(spec.chain, asked, 1, all_branches, [&](const FamilyLeaf<S>& leaf) {
      append(joints, spec, at, leaf, own, some, out);
      return false;
    });
  }
}

// One branch per lane; a single lane walks through all of them.
template <class S> POISE_LARGE_FN int list_near(const BranchStart& own, const FamilyTarget<double>& target,
                                                const double* start, NearPose* out) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  const FamilySpec<S> spec = spread_spec<S>(own.form.spec);
  const FamilyAsked<double> asked = ask_of(question_of(own.form.spec, target), 0.0, 0.0);
  FamilyAsked<S> wide;
  spread_numbers(asked.R, 9, wide.R);
  spread_numbers(asked.p, 3, wide.p);
  wide.turn_error = S(asked.turn_error);
  wide.center_error = S(asked.center_error);
  wide.distance_error = S(asked.distance_error);
  S near[7];
  spread_numbers(start, own.joints.count, near);
  const int branches = 1 << choices_of(spec.chain);
  int count = 0, first = 0;
  auto visit = [&](const FamilyLeaf<S>& leaf) {
    S values[7], slacks[7], far, slack, least = S(0.0);
    place_leaf(own.joints, spec, leaf, S(0.0), near, values, far, slack);
    FamilyLeaf<S> other = leaf;
    for (Known<S>& one : other.turn) one.at = one.slack;
    joints_of(spec, other, S(0.0), slacks);
    for (int k = 0; k < own.joints.count; ++k) {
      const S moved = absolute(values[k] - near[k]) - slacks[k] / absolute(S(own.joints.gain[k]));
      least = maximum(least, moved / S(own.joints.unit[k]));
    }
    for (int lane = 0; lane < lanes && first + lane < branches && count < 8; ++lane) {
      if (is_closed(leaf, lane)) continue;
      NearPose& pose = out[count++];
      pose.far = lane_of(far, lane);
      pose.least = lane_of(least, lane);
      pose.slack = lane_of(slack, lane);
      for (int k = 0; k < own.joints.count; ++k) pose.values[k] = lane_of(values[k], lane);
    }
    return false;
  };
  if constexpr (lanes == 1) {
    walk_branches(spec.chain, wide, 1, all_branches, visit);
  } else {
    for (; first < branches; first += lanes) {
      int own_branch[lanes];
      for (int lane = 0; lane < lanes; ++lane) own_branch[lane] = first + lane;
      walk_chosen(spec.chain, wide, sides_of<S>(own_branch), visit);
    }
  }
  return count;
}

}  // namespace poise

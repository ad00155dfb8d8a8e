// branch_lists.h: the branches of many queries, one query per lane of S. S is a pack in batches, double in pages.
#pragma once
#include <algorithm>

#include "kernels/closed/packed_queries.h"
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

// The lanes of a leaf that are not excluded, as poses near their starts; calls room(lane) for the place of each, null if
// there is none.
template <class S, class F> POISE_LARGE_FN void write_lanes(const ListedJoints& joints, const FamilySpec<S>& spec,
                                                            const FamilyLeaf<S>& leaf, S value, const S* start,
                                                            int count, F&& room) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  S values[7], far;
  place_leaf(joints, spec, leaf, value, start, values, far);
  double at[7][lanes], fars[lanes], opens[lanes];
  scatter_row(far, fars);
  scatter_row(measure_open(joints, spec, leaf, start, values), opens);
  for (int k = 0; k < joints.count; ++k) scatter_row(values[k], at[k]);
  for (int lane = 0; lane < count; ++lane) {
    ListedPose* pose = is_closed(leaf, lane) ? nullptr : room(lane);
    if (!pose) continue;
    pose->far = fars[lane];
    pose->open = opens[lane];
    pose->branch = leaf.branch;
    for (int k = 0; k < joints.count; ++k) pose->values[k] = at[k][lane];
  }
}

template <class S> POISE_LARGE_FN void list_packed(const FamilySpec<double>& form, const ListedJoints& joints,
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
      write_lanes(joints, spec, leaf, at.value, at.start, some, [&](int lane) {
        ListedRow& row = out[own[lane].row];
        return row.count == row.room ? nullptr : &row.poses[row.count++];
      });
      return false;
    });
  }
}

// Whether a start may be a pose of a leaf: each joint is within its uncertainty, whole turns aside.
template <class S> POISE_LARGE_FN mask_t<S> may_be_at(const ListedJoints& joints, const FamilySpec<S>& spec,
                                                      const FamilyLeaf<S>& leaf, const S* start) {
  S values[7], slacks[7];
  joints_of(spec, leaf, S(0.0), values);
  slacks_of(spec, leaf, slacks);
  mask_t<S> near = S(0.0) <= S(0.0);
  for (int k = 0; k < joints.count; ++k) {
    FamilyAxis<S> axis = axis_of(spec, k);
    axis.middle = values[k];
    const S own = S(joints.gain[k]) * start[k] + S(joints.bias[k]);
    near = near & (absolute(turns_off(axis, own)) <= slacks[k] + S(2.0 * family_room));
  }
  return near;
}

// The nearest branch of each query without a free joint, to out[row].
template <class S> POISE_LARGE_FN void list_nearest_packed(const FamilySpec<double>& form, const ListedJoints& joints,
                                                           const ListAsk* asks, int count, NearestPose* out) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  const FamilySpec<S> spec = spread_spec<S>(form);
  const S none = S(HUGE_VAL);
  for (int first = 0; first < count; first += lanes) {
    const ListAsk* own = asks + first;
    const int some = count - first < lanes ? count - first : lanes;
    const Abreast<S> at = gather<S>(joints.count, own, some);
    S best[7] = {}, far = none, open = none, at_start = S(0.0);
    walk_branches(spec.chain, ask_of(question_of(spec, at.target), S(0.0), S(0.0)), 1, all_branches,
                  [&](const FamilyLeaf<S>& leaf) {
                    S values[7], way;
                    place_leaf(joints, spec, leaf, S(0.0), at.start, values, way);
                    const mask_t<S> nearer = (!leaf.span.closed) & (way < far);
                    for (int k = 0; k < joints.count; ++k) best[k] = select(nearer, values[k], best[k]);
                    far = select(nearer, way, far);
                    open = minimum(open,
                                   select(leaf.span.closed, none, measure_open(joints, spec, leaf, at.start, values)));
                    at_start = select((!leaf.span.closed) & may_be_at(joints, spec, leaf, at.start), S(1.0), at_start);
                    return false;
                  });
    for (int lane = 0; lane < some; ++lane) {
      NearestPose& pose = out[own[lane].row];
      pose.far = lane_of(far, lane);
      pose.open = lane_of(open, lane);
      pose.at_start = lane_of(at_start, lane) > 0.0;
      for (int k = 0; k < joints.count; ++k) pose.values[k] = lane_of(best[k], lane);
    }
  }
}

// Lists the branches of a target without a free joint, one per lane; returns their number, at most 8.
template <class S> POISE_LARGE_FN int list_near(const BranchStart& own, const FamilyTarget<double>& target,
                                                const double* start, ListedPose* out) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  FamilySpec<S> spec;  // only its chain is read
  spread_chain(own.form.spec.chain, spec.chain);
  spec.backwards = own.form.spec.backwards;
  spec.free_joint = FREE_NONE;
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
  int count = 0;
  for (int first = 0; first < branches; first += lanes) {
    int own_branch[lanes];
    for (int lane = 0; lane < lanes; ++lane) own_branch[lane] = first + lane;
    walk_chosen(spec.chain, wide, sides_of<S>(own_branch), [&](const FamilyLeaf<S>& leaf) {
      write_lanes(own.joints, spec, leaf, S(0.0), near, std::min(lanes, branches - first),
                  [&](int) { return &out[count++]; });
      return true;
    });
  }
  return count;
}

}  // namespace poise

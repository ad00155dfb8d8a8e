// packed_queries.h: a chain's numbers broadcast to every lane of a pack, so that one walk answers one query per lane.
#pragma once
#include "kernels/closed/question.h"

namespace poise {

template <class S, class T> POISE_FN void spread_numbers(const T* from, int count, S* to) {
  for (int k = 0; k < count; ++k) to[k] = S(from[k]);
}

template <class S, class T> POISE_FN FamilyAxis<S> spread_axis(const FamilyAxis<T>& axis) {
  FamilyAxis<S> out{{}, {}, S(axis.middle), S(axis.half), axis.slides};
  spread_numbers(axis.h, 3, out.h);
  spread_numbers(axis.p, 3, out.p);
  return out;
}

template <class S, class T> POISE_LARGE_FN void spread_chain(const FamilyChain<T>& chain, FamilyChain<S>& out) {
  for (int j = 0; j < 6; ++j) out.axes[j] = spread_axis<S>(chain.axes[j]);
  spread_numbers(chain.center, 3, out.center);
  spread_numbers(chain.meet, 3, out.meet);
  out.plan = chain.plan;
  out.prune = chain.prune;
  out.length = S(chain.length);
  out.lowest = S(chain.lowest);
  out.highest = S(chain.highest);
}

template <class S, class T> POISE_LARGE_FN FamilySpec<S> spread_spec(const FamilySpec<T>& spec) {
  FamilySpec<S> out;
  spread_chain(spec.chain, out.chain);
  out.backwards = spec.backwards;
  out.free_joint = spec.free_joint;
  out.free = spread_axis<S>(spec.free);
  spread_numbers(spec.R0, 9, out.R0);
  spread_numbers(spec.p0, 3, out.p0);
  out.point_error = S(spec.point_error);
  out.turn_error = S(spec.turn_error);
  out.nearest = S(spec.nearest);
  out.farthest = S(spec.farthest);
  return out;
}

template <class S, class T>
POISE_LARGE_FN FamilyQuestion<S> spread_question(const FamilySpec<S>& spec, const FamilyQuestion<T>& question) {
  FamilyQuestion<S> out{spec,
                        {},
                        {},
                        {},
                        {},
                        {},
                        S(question.metres),
                        S(question.radians),
                        S(question.own),
                        S(question.about),
                        S(question.room),
                        question.after};
  spread_numbers(question.R, 9, out.R);
  spread_numbers(question.p, 3, out.p);
  spread_numbers(question.center, 3, out.center);
  spread_numbers(question.seen, 3, out.seen);
  spread_numbers(question.lever, 3, out.lever);
  return out;
}

// the bits of one branch per lane
template <class S> POISE_FN BranchSides<S, true> sides_of(const int* branches) {
  BranchSides<S, true> out;
  for (int k = 0; k < 3; ++k) {
    S bit = S(real_t<S>(0));
    for (int lane = 0; lane < ScalarTraits<S>::lanes; ++lane) set_lane(bit, lane, real_t<S>(branches[lane] >> k & 1));
    out.bit[k] = bit > S(real_t<S>(0.5));
  }
  return out;
}

}  // namespace poise

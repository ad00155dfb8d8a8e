// interval_cell.h: every branch of a transform while the free joint moves through a cell, with the part in which all joints
// are inside their ranges.
#pragma once
#include "kernels/closed/interval_turns.h"
#include "kernels/closed/question.h"

namespace poise {

// whether a joint may be inside its range somewhere in the cell; shortens a span to that part
template <class T>
POISE_LARGE_FN bool stays(IntervalSpan<T>& span, const FamilyAxis<T>& axis, const IntervalKnown<T>& turn) {
  span.smooth = span.smooth & turn.smooth;
  if (!axis.slides && !any(axis.half < T(one_pi))) return true;
  const T at = turns_off(axis, turn.at.at), rate = turn.at.rate, off = turn.at.off + turn.slack;
  const IntervalSpan<T> whole = span;
  for (int side = -1; side <= 1; side += 2) {
    const T out = T(side) * at - axis.half, by = T(side) * rate;
    keep_below(out - off - T(family_room), by, span.low, span.high);
    keep_below(out + off + T(3 * family_room), by, span.from, span.to);
  }
  if (!axis.slides) {
    const mask_t<T> round = absolute(at) + absolute(rate) + off >= T(2 * one_pi) - axis.half;
    span.low = select(round, whole.low, span.low);  // it may re-enter from the other end
    span.high = select(round, whole.high, span.high);
    span.to = select(round, T(-2), span.to);
  }
  return any(span.low <= span.high);
}

// The transform of the six joints while the free joint moves through the cell within `half` of `at`, to second order.
template <class T>
POISE_LARGE_FN IntervalAsked<T> flow_of(const FamilyQuestion<T>& question, T at, T half, bool exact = false) {
  const FamilySpec<T>& spec = question.spec;
  IntervalAsked<T> asked;
  static_cast<FamilyAsked<T>&>(asked) = ask_of(question, at, T(0), exact);
  const T lever = exact || question.after ? T(0) : question.radians * half * question.own;
  asked.center_error += lever;
  asked.distance_error += lever;
  asked.sway = spec.backwards ? half : -half;
  asked.slides = spec.free.slides != 0;
  for (int i = 0; i < 3; ++i) {
    asked.h[i] = spec.free.h[i];
    asked.through[i] = spec.free.p[i];
  }
  if (question.after) return asked;
  rotate(asked.R, spec.free.h, asked.h);
  place(asked.R, asked.p, spec.free.p, asked.through);
  return asked;
}

// Calls visit(leaf) for every branch of `wanted` that is not excluded in a cell, until it returns true; returns whether
// it did. The span of each leaf is the part of the cell in which it may be inside, and in which it certainly is.
template <class T, class F>
POISE_LARGE_FN bool walk_cell(const FamilyChain<T>& chain, const IntervalAsked<T>& asked, unsigned wanted, F&& visit) {
  FamilyWalk<Flowing<T>> walk{chain, asked, 1, wanted, choices_of(chain), {}, {}};
  walk.leaf.span = {T(-1), T(1), T(-1), T(1), T(0) <= T(0)};
  return walk_plan(walk, visit);
}

// Calls visit(leaf) for the branches of `sides`, one cell and branch per lane, unless all are excluded.
template <class T, class F> POISE_LARGE_FN void walk_chosen_cells(const FamilyChain<T>& chain,
                                                                  const IntervalAsked<T>& asked,
                                                                  const BranchSides<T, true>& sides, F&& visit) {
  FamilyWalk<Chosen<Flowing<T>>> walk{chain, asked, 1, all_branches, choices_of(chain), {}, sides};
  walk.leaf.span = {T(-1), T(1), T(-1), T(1), T(0) <= T(0)};
  walk_plan(walk, visit);
}

}  // namespace poise

// form.h: a goal with a whole transform, the closed form of its chain, and the indices of its joints in a pose.
#pragma once
#include "kernels/closed/decide.h"

namespace poise {

// v = gain q + bias
template <class T> struct ClosedForm {
  int goal, joints;
  FamilySpec<T> spec;
  int q_index[7];
  T gain[7], bias[7];
};

// the axis of joint number k of the whole chain
template <class T> POISE_FN const FamilyAxis<T>& axis_of(const FamilySpec<T>& spec, int k) {
  const int six = k - (spec.free_joint == FREE_FIRST);
  return six < 0 || six > 5 ? spec.free : spec.chain.axes[spec.backwards ? 5 - six : six];
}

// a joint's value inside its range, up to whole turns
template <class T> POISE_FN T inside_of(const FamilyAxis<T>& axis, T value) {
  return axis.middle + minimum(maximum(turns_off(axis, value), -axis.half), axis.half);
}

constexpr double open_branch = 0.5;  // rad, m: a branch with a larger uncertainty stands for a curve of poses
constexpr double arc_lever = 0.15;   // L per radian: way of a point for the largest motion of a joint along an arc
constexpr double whole_turn = 2.0 * one_pi;
// of a turn: of two equally near angles the lower one is chosen, regardless of rounding in double; float may choose either
constexpr double half_turn = 0.5 + 1e-9;

// the smallest integer that is not less
template <class S> POISE_FN S whole_above(S x) {
  const S shift = S(TrigTable<real_t<S>>::round_shift), near = (x + shift) - shift;
  return select(near < x, near + S(real_t<S>(1)), near);
}

// an angle shifted by whole turns into the range if possible, as near as possible
template <class S> POISE_LARGE_FN S bring_near(const FamilyAxis<S>& axis, S v, S near) {
  if (axis.slides) return v;
  const S turn = S(whole_turn), part = S(1.0 / whole_turn), little = S(1e-12), low = axis.middle - axis.half,
          high = axis.middle + axis.half;
  S close = v + turn * whole_above((near - v) * part - S(half_turn));
  const mask_t<S> over = close > high;
  if (any(over)) close = select(over, close - turn * whole_above((close - high) * part - little), close);
  const mask_t<S> under = close < low;
  if (!any(under)) return close;
  const S up = close + turn * whole_above((low - close) * part - little);
  return select(under & ((up <= high + S(1e-9)) | (low - close >= up - high)), up, close);
}

// the query of a goal with a closed form; `t` has R and p, with p relative to `origin`
template <class T, class S> POISE_FN FamilyTarget<T> target_of(const S* t, const T* origin, const S* tolerance) {
  FamilyTarget<T> out;
  for (int k = 0; k < 9; ++k) out.R[k] = T(t[k]);
  for (int k = 0; k < 3; ++k) out.p[k] = T(t[9 + k]) + origin[k];
  out.metres = T(tolerance[0]);
  out.radians = T(tolerance[1]);
  return out;
}

// Whether the center of the chain is farther from `meet`, or nearer, than the third joint can bring it, for any free
// joint: a proof without an angle, which applies to most unreachable transforms.
template <class T> POISE_FN bool never_so_far(const FamilySpec<T>& spec, const FamilyTarget<T>& target) {
  return spec.free_joint != FREE_NONE && scan_of(question_of(spec, target)).count == 0;
}

}  // namespace poise

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

// sweeps.h: the methods that sweep over the body instead of proposing a step from a Jacobian. Each leaves its step in
// state.dq, so that limits, acceptance, stopping and recording are the same for every method.
#pragma once
#include "kernels/methods/rules.h"
#include "kernels/methods/two_bone.h"

namespace poise {

// numbers of workspace in state.extra
POISE_LARGE_FN constexpr int sweep_memory(int method, int goals, int primitives) {
  return !is_sweep(method) ? 0 : method == METHOD_FABRIK ? fabrik_memory(goals, primitives) : ccd_memory(goals);
}

// one sweep; false if nothing moves any more
template <class S, class P> POISE_LARGE_FN bool sweep(const P& problem, const Settings<real_t<S>>& settings,
                                                      const S* targets, SearchState<S>& state) {
  if (settings.method == METHOD_FABRIK) return sweep_fabrik(problem, settings, targets, state);
  if (settings.method == METHOD_TWO_BONE) return sweep_two_bone(problem, settings, targets, state);
  return sweep_ccd(problem, settings, targets, state);
}

}  // namespace poise

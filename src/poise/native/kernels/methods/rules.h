// rules.h: the Jacobian rules: the step of each method from J and r.
#pragma once
#include "kernels/methods/strategies.h"

namespace poise {

enum MethodCode : int {
  METHOD_LM = 0,
  METHOD_GRADIENT = 1,
  METHOD_TRANSPOSE = 2,
  METHOD_INVERSE = 3,
  METHOD_PSEUDOINVERSE = 4,
  METHOD_SVD = 5,
  METHOD_QR = 6,
  METHOD_DLS = 7,
  METHOD_SDLS = 8,
  METHOD_HALLEY = 9,
  METHOD_CCD = 20,
  METHOD_FABRIK = 21,
  METHOD_TWO_BONE = 22,
};

// methods that sweep over the body (sweeps.h); the others propose a step from a Jacobian
POISE_LARGE_FN constexpr bool is_sweep(int method) {
  return method == METHOD_CCD || method == METHOD_FABRIK || method == METHOD_TWO_BONE;
}

// the size of `extra` for a rule; the default step has its own memory
POISE_LARGE_FN constexpr int workspace_of_method(int method, int limits, int m, int n) {
  const bool default_step = method == METHOD_LM && limits != LIMITS_FREEZE && limits != LIMITS_PENALTY;
  return is_sweep(method) || default_step ? 0 : rule_workspace(limits, m, n);
}

// Halley's third-order step: x0 from J, then x from K = J + (dJ along x0) / 2, whose product with x0 is the
// second-order expansion of the rows
template <class S, class P> POISE_LARGE_FN void halley_direction(const P& problem, const Settings<real_t<S>>& settings,
                                                                 const S* targets, RuleWork<S>& w,
                                                                 SearchState<S>& state) {
  damped_direction(w.system, state.damping);
  scaled_step(w, S(settings.reach), state.dq);
  for (int k = 0; k < problem.n_rows * problem.n_v; ++k) w.K[k] = state.J[k];
  add_curvature(problem, state.q, state.placements, targets, state.dq, real_t<S>(0.5), w.K);
  if (state.bend) {
    for (int k = 0; k < problem.n_rows * problem.n_v; ++k) w.K[k] += S(real_t<S>(0.5)) * state.bend[k];
  }
  fill_system(problem, w.K, S(settings.gain), w, state);
  damped_direction(w.system, state.damping);
}

// the solution of a rule's linear system
template <class S, class P> POISE_LARGE_FN void answer(const P& problem, const Settings<real_t<S>>& settings,
                                                       const S* targets, RuleWork<S>& w, SearchState<S>& state) {
  LinearSystem<S>& s = w.system;
  switch (settings.method) {
    case METHOD_GRADIENT:
      return gradient_direction(s);
    case METHOD_TRANSPOSE:
      return transpose_direction(s, S(settings.options[0]));
    case METHOD_INVERSE:
      return inverse_direction(s);
    case METHOD_PSEUDOINVERSE:
      return truncated_direction(s, rank_tolerance(s));
    case METHOD_SVD:
      return truncated_direction(s, S(settings.options[0]));
    case METHOD_QR:
      return qr_direction(s);
    case METHOD_SDLS:
      clamp_blocks(s, S(settings.options[1]));
      return selective_direction(s, S(settings.options[0]), settings.options[2] > 0);
    case METHOD_HALLEY:
      return halley_direction(problem, settings, targets, w, state);
    default:
      return damped_direction(s, state.damping);
  }
}

// lambda^2 of this step: fixed under dls, from the error under lm and halley
template <class S> POISE_LARGE_FN S damping_of_step(const Settings<real_t<S>>& settings, S cost) {
  switch (settings.method) {
    case METHOD_DLS:
      return S(settings.damping) * S(settings.damping);
    case METHOD_LM:
    case METHOD_HALLEY:
      return S(settings.damping) * cost + S(settings.damping_floor);
    default:
      return S(0);
  }
}

// proposes state.dq for the last evaluated pose; state.J is up to date
template <class S, class P> POISE_LARGE_FN void propose(const P& problem, const Settings<real_t<S>>& settings,
                                                        const Posture<S>& posture, const S* targets,
                                                        SearchState<S>& state) {
  if (workspace_of_method(settings.method, settings.limits, 1, 1) == 0) {
    step_default(problem, settings, posture, state);
    return;
  }
  state.damping = damping_of_step(settings, state.cost);
  propose_within_limits(problem, settings, posture, state,
                        [&](RuleWork<S>& w) { answer(problem, settings, targets, w, state); });
}

}  // namespace poise

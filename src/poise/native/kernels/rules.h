// rules.h: the Jacobian rules: how each method makes a step from J and r.
#pragma once
#include "search.h"

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

// proposes state.dq for the pose that was evaluated last
template <class S, class P>
POISE_FN void propose(const P& problem, const Settings<real_t<S>>& settings, const Posture<S>& posture, const S* targets,
                      SearchState<S>& state) {
  if (problem.n_rows == 6) {
    propose_lm<6>(problem, settings, posture, targets, state);
  } else if (problem.n_rows == 3) {
    propose_lm<3>(problem, settings, posture, targets, state);
  } else {
    propose_lm<0>(problem, settings, posture, targets, state);
  }
}

}  // namespace poise

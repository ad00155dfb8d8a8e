// manifold.h: steps between configurations. q has n_q numbers and steps have n_v; they differ for quaternions.
#pragma once
#include "kernels/body/body.h"

namespace poise {

// out = q (+) dq: plain numbers add; quaternions are multiplied on the right by exp(dq) and stay unit. out may be q.
template <class C, class S> POISE_FN void integrate(const C& coordinates, int n, const S* q, const S* dq, S* out) {
  POISE_UNROLL_BODY
  for (int i = 0; i < n; ++i) {
    const Coordinate c = coordinates[i];
    if (!c.quaternion) {
      out[c.q_index] = q[c.q_index] + dq[c.v_index];
      continue;
    }
    S turn[4];
    quaternion_of_log(dq + c.v_index, turn);
    quaternion_multiply(q + c.q_index, turn, out + c.q_index);
    quaternion_normalize(out + c.q_index);
  }
}

// dq with q0 (+) dq = q1; the shorter rotation for quaternions
template <class C, class S> POISE_FN void difference(const C& coordinates, int n, const S* q0, const S* q1, S* dq) {
  POISE_UNROLL_BODY
  for (int i = 0; i < n; ++i) {
    const Coordinate c = coordinates[i];
    if (!c.quaternion) {
      dq[c.v_index] = q1[c.q_index] - q0[c.q_index];
      continue;
    }
    const S* a = q0 + c.q_index;
    const S back[4] = {a[0], S(real_t<S>(0)) - a[1], S(real_t<S>(0)) - a[2], S(real_t<S>(0)) - a[3]};
    S turn[4];
    quaternion_multiply(back, q1 + c.q_index, turn);
    log_of_quaternion(turn, dq + c.v_index);
  }
}

}  // namespace poise

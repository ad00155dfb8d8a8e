// general_chain.h: chains of six rotations in general position, and of seven joints if one of them is held.
#pragma once
#include "kernels/closed/general_six.h"

namespace poise {

struct GeneralChain {
  int joints, free;  // the joint that is held, or -1
  bool free_slides;
  double h[7][3], p[7][3];    // the axes at zero
  double middle[7], half[7];  // the ranges
  double R0[9], p0[3];        // the goal's point of the frame at zero
  double unit;                // the chain's length
  LoopVariants variants;
};

// The loop of a target with the held joint at a value: E1 ... Ek ... E7 = A is E1 ... E'(k+1) ... E'7 = A Ek^-1, whose last
// axes are moved by Ek.
POISE_LARGE_FN RotationLoop loop_of(const GeneralChain& chain, const double* R, const double* p, double value) {
  RotationLoop out{};
  double E[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {0, 0, 0};
  if (chain.free >= 0) {
    const double *h = chain.h[chain.free], *own = chain.p[chain.free];
    rotation_about(h, chain.free_slides ? 0.0 : value, E);
    rotate(E, own, t);
    for (int i = 0; i < 3; ++i) t[i] = chain.free_slides ? value * h[i] : own[i] - t[i];
  }
  for (int k = 0, to = 0; k < chain.joints; ++k) {
    if (k == chain.free) continue;
    if (k > chain.free && chain.free >= 0) {
      rotate(E, chain.h[k], out.h[to]);
      place(E, t, chain.p[k], out.p[to]);
    } else {
      for (int i = 0; i < 3; ++i) {
        out.h[to][i] = chain.h[k][i];
        out.p[to][i] = chain.p[k][i];
      }
    }
    for (int i = 0; i < 3; ++i) out.p[to][i] /= chain.unit;
    ++to;
  }
  double B[9], moved[3];  // A = T M^-1, and then A Ek^-1
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) B[3 * i + k] = dot(R + 3 * i, chain.R0 + 3 * k);
  }
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) out.R[3 * i + k] = dot(B + 3 * i, E + 3 * k);
  }
  rotate(B, chain.p0, moved);
  double back[3];
  rotate(out.R, t, back);
  for (int i = 0; i < 3; ++i) out.t[i] = (p[i] - moved[i] - back[i]) / chain.unit;
  return out;
}

}  // namespace poise

// general_chain.h: chains of six rotations in general position, among further joints that are held.
#pragma once
#include "kernels/closed/general_six.h"

namespace poise {

struct GeneralChain {
  static constexpr int most = 16;
  int joints;
  bool held[most], slides[most];
  double h[most][3], p[most][3];    // the axes at zero
  double middle[most], half[most];  // the ranges
  double R0[9], p0[3];              // the goal's point of the frame at zero
  double unit;                      // the chain's length
  LoopVariants variants;
};

// The loop of a target with the held joints at values, one for each: E1 ... Ek ... En = A is E1 ... E'(k+1) ... E'n = A Ek^-1,
// whose last axes are moved by Ek.
POISE_LARGE_FN RotationLoop loop_of(const GeneralChain& chain, const double* R, const double* p, const double* values) {
  RotationLoop out{};
  double E[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {0, 0, 0};  // the product of the held joints so far
  for (int k = 0, to = 0; k < chain.joints; ++k) {
    if (chain.held[k]) {
      const double *h = chain.h[k], *own = chain.p[k], value = *values++;
      double turn[9], shift[3];
      rotation_about(h, chain.slides[k] ? 0.0 : value, turn);
      rotate(turn, own, shift);
      for (int i = 0; i < 3; ++i) shift[i] = chain.slides[k] ? value * h[i] : own[i] - shift[i];
      rotate(E, shift, shift);
      for (int i = 0; i < 3; ++i) t[i] += shift[i];
      multiply(E, turn, turn);
      for (int i = 0; i < 9; ++i) E[i] = turn[i];
      continue;
    }
    rotate(E, chain.h[k], out.h[to]);
    place(E, t, chain.p[k], out.p[to]);
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

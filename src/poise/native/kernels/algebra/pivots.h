// pivots.h: points on the axes of a chain, chosen so that the path through them is short.
//
// Lengths are convex in the slides along the axes. Each round minimises the squared lengths, weighted by the inverse
// lengths of the previous round (Weiszfeld 1937); the minimum is a tridiagonal system. A link shorter than a floor counts
// as a point, and the floor falls from round to round. Any result is a valid choice of pivots; this one is nearly optimal.
#pragma once
#include "kernels/portable.h"

namespace poise {

constexpr int pivot_rounds = 30;

// Slides the n points `at` along their axes (zero: fixed). `work` has room for 4 n numbers.
template <class T> POISE_LARGE_FN void shorten_path(int n, const T* axes, T* at, T* work) {
  T *pull = work, *held = work + n, *coupling = work + 2 * n, *slide = work + 3 * n, size = T(0), floor = T(0.1);
  const auto product = [](const T* a, const T* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
  for (int k = 3; k < 3 * n; ++k) size = maximum(size, absolute(at[k] - at[k - 3]));
  size = size > T(0) ? size : T(1);
  for (int round = 0; round < pivot_rounds; ++round, floor *= T(0.4)) {
    for (int i = 0; i < n; ++i) held[i] = slide[i] = T(0);
    for (int i = 0; i + 1 < n; ++i) {
      T gap[3];
      for (int k = 0; k < 3; ++k) gap[k] = at[3 * i + 3 + k] - at[3 * i + k];
      pull[i] = T(1) / maximum(square_root(product(gap, gap)), size * maximum(T(1e-12), floor));
      coupling[i] = -pull[i] * product(axes + 3 * i, axes + 3 * i + 3);
      slide[i] += pull[i] * product(axes + 3 * i, gap);
      slide[i + 1] -= pull[i] * product(axes + 3 * i + 3, gap);
      held[i] += pull[i];
      held[i + 1] += pull[i];
    }
    for (int i = 0; i < n; ++i) {
      const T moving = product(axes + 3 * i, axes + 3 * i);
      held[i] = moving * held[i] + (T(1) - moving) + T(1e-13) / size;
    }
    for (int i = 0; i + 1 < n; ++i) {
      const T share = coupling[i] / held[i];
      held[i + 1] -= share * coupling[i];
      slide[i + 1] -= share * slide[i];
    }
    T most = T(0);
    for (int i = n - 1; i >= 0; --i) {
      slide[i] = (slide[i] - (i + 1 < n ? coupling[i] * slide[i + 1] : T(0))) / held[i];
      most = maximum(most, absolute(slide[i]));
      for (int k = 0; k < 3; ++k) at[3 * i + k] += slide[i] * axes[3 * i + k];
    }
    if (most < T(1e-14) * size) return;
  }
}

}  // namespace poise

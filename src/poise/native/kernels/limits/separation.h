// separation.h: the displacement of some joints that moves solids out of each other.
//
//     minimise  soft |d - wanted|^2 + |max(least - J d, 0)|^2
//
// J has a row for each pair of solids: the velocity of its contact along the normal; `least` are the motions that part
// the pairs.
#pragma once
#include "kernels/algebra/dense.h"
#include "kernels/algebra/factor.h"
#include "kernels/body/kinematics.h"

namespace poise {

// adds the velocities of a point of a frame along a direction of the world, times `sign`, to a row; J is scratch memory
template <class T, class Body> POISE_LARGE_FN void add_rates(const Body& body, const FrameData<T>& frame,
                                                             const T* point, const T* way, T sign, const T* q, T* J,
                                                             T* row) {
  const int n = body.n_v;
  frame_jacobian(body, frame, point, WORLD, q, n, J);
  for (int c = 0; c < n; ++c) row[c] += sign * (way[0] * J[c] + way[1] * J[n + c] + way[2] * J[2 * n + c]);
}

// Finds d (c numbers) for n rows. The pairs that d does not part, and those that it parts by a force, are found in a few
// rounds; `active` has room for their indices, `work` for n (n + 7) / 2 numbers.
template <class T> POISE_LARGE_FN void displace(int n, int c, const T* rows, const T* least, const T* wanted, T soft,
                                                int* active, T* work, T* d) {
  constexpr int rounds = 4;
  const T slack = T(1e-9);
  T *gram = work, *inverse = gram + packed(n, 0), *force = inverse + n, *pull = force + n;
  for (int i = 0; i < n; ++i) pull[i] = T(0);
  for (int k = 0; k < c; ++k) d[k] = wanted[k];
  for (int round = 0, before = 0; round < rounds; ++round) {
    int count = 0;
    bool changed = false;
    for (int i = 0; i < n; ++i) {
      if (!(pull[i] > T(0) || inner(c, rows + i * c, d) < least[i] - slack)) continue;
      changed = changed || count >= before || active[count] != i;
      active[count++] = i;
    }
    if (!changed && count == before) break;
    before = count;
    for (int r = 0; r < count; ++r) {
      const T* row = rows + active[r] * c;
      for (int k = 0; k <= r; ++k) gram[packed(r, k)] = inner(c, row, rows + active[k] * c);
      gram[packed(r, r)] += soft;
      force[r] = least[active[r]] - inner(c, row, wanted);
    }
    cholesky<0>(count, gram, inverse, T(0.5) * soft);
    cholesky_solve<0>(count, gram, inverse, force);
    for (int k = 0; k < c; ++k) d[k] = wanted[k];
    for (int i = 0; i < n; ++i) pull[i] = T(0);
    for (int r = 0; r < count; ++r) {
      add_scaled(c, force[r], rows + active[r] * c, d);
      pull[active[r]] = force[r];
    }
  }
}

}  // namespace poise

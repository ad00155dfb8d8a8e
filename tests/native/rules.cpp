// rules.cpp: the factorisations, and every Jacobian rule under every limit strategy on the small tree, in double and float.
// Memory is exactly what the kernels ask for, so that a sanitizer sees every step beyond it. Prints the worst errors.
#include "kernels/methods/rules.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "small_tree.h"

using namespace poise;

namespace {

double noise(unsigned i) {
  unsigned x = i * 2654435761u + 12345u;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  return 2 * double(x) / 4294967296.0 - 1;
}

template <class T> std::vector<T> zeros(int n) { return std::vector<T>(std::size_t(n), T(0)); }

template <class T> double size_of(const std::vector<T>& a) {
  return double(square_root(inner(int(a.size()), a.data(), a.data())));
}

// m x n of the given rank
template <class T> std::vector<T> matrix(int m, int n, int rank, unsigned seed) {
  std::vector<T> A = zeros<T>(m * n);
  for (int k = 0; k < rank; ++k) {
    for (int r = 0; r < m; ++r) {
      for (int c = 0; c < n; ++c)
        A[std::size_t(r * n + c)] += T(noise(seed + 977u * k + r) * noise(seed + 977u * k + 500u + c));
    }
  }
  return A;
}

// |A - sum sigma left right^T| and |right right^T - 1| where sigma counts
template <class T> double svd_error(int m, int n, int rank, unsigned seed) {
  const std::vector<T> A = matrix<T>(m, n, rank, seed);
  std::vector<T> B = A, left = zeros<T>(m * m), sigma = zeros<T>(m), rest = A;
  const T largest = jacobi_svd(m, n, B.data(), left.data(), sigma.data());
  double worst = 0;
  for (int i = 0; i < m; ++i) {
    for (int r = 0; r < m; ++r)
      add_scaled(n, -sigma[i] * left[std::size_t(i * m + r)], B.data() + i * n, rest.data() + r * n);
    for (int k = 0; k < m; ++k) {
      const T overlap = inner(m, left.data() + i * m, left.data() + k * m);
      worst = maximum(worst, double(absolute(overlap - T(i == k))));
      if (sigma[i] > T(1e-3) * largest && sigma[k] > T(1e-3) * largest) {
        worst = maximum(worst, double(absolute(inner(n, B.data() + i * n, B.data() + k * n) - T(i == k))));
      }
    }
  }
  return maximum(worst, size_of(rest) / size_of(A));
}

// the minimum-norm solution: A^T (r - A x) = 0, and x in the row space; the projector kills the rows and leaves the rest
template <class T> double qr_error(int m, int n, int rank, unsigned seed, int& found) {
  const std::vector<T> A = matrix<T>(m, n, rank, seed);
  std::vector<T> B = A, r = zeros<T>(m), x = zeros<T>(n), work = zeros<T>(qr_workspace(m, n));
  for (int k = 0; k < m; ++k) r[std::size_t(k)] = T(noise(seed + 31u * k));
  found = minimum_norm(m, n, B.data(), r.data(), T(m + n) * rounding<T>(), work.data(), x.data());
  std::vector<T> gradient = zeros<T>(n), z = x, z_work = zeros<T>(2 * m);
  for (int k = 0; k < m; ++k) {
    add_scaled(n, r[std::size_t(k)] - inner(n, A.data() + k * n, x.data()), A.data() + k * n, gradient.data());
  }
  B = A;
  project_out(m, n, B.data(), T(m + n) * rounding<T>(), z_work.data(), z.data());
  return maximum(size_of(gradient) / size_of(A) / size_of(r), size_of(z) / size_of(x));
}

template <class T> double square_error(int n, unsigned seed) {
  const std::vector<T> A = matrix<T>(n, n, n, seed);
  std::vector<T> B = A, r = zeros<T>(n), x;
  for (int k = 0; k < n; ++k) r[std::size_t(k)] = T(noise(seed + 31u * k));
  x = r;
  if (!solve_square(n, B.data(), x.data())) return 1e30;
  for (int k = 0; k < n; ++k) r[std::size_t(k)] -= inner(n, A.data() + k * n, x.data());
  return size_of(r) / size_of(A) / size_of(x);
}

template <class T> void factors(const char* name) {
  const int shapes[][3] = {{6, 7, 6}, {9, 6, 6}, {3, 50, 3}, {24, 50, 24}, {6, 7, 4},
                           {9, 6, 3}, {1, 1, 1}, {6, 6, 5},  {3, 2, 0}};
  double svd = 0, qr = 0, square = 0;
  int wrong_rank = 0;
  for (const auto& s : shapes) {
    for (unsigned seed = 1; seed < 20; ++seed) {
      int found = 0;
      svd = maximum(svd, s[2] ? svd_error<T>(s[0], s[1], s[2], seed) : 0.0);
      qr = maximum(qr, s[2] ? qr_error<T>(s[0], s[1], s[2], seed, found) : 0.0);
      wrong_rank += s[2] != found;
      square = maximum(square, square_error<T>(s[0], seed));
    }
  }
  std::vector<T> singular = matrix<T>(5, 5, 4, 3), b(5, T(1));
  std::printf("svd_%s %.3e\nqr_%s %.3e\nwrong_rank_%s %d\nsquare_%s %.3e\nsingular_%s %d\n", name, svd, name, qr, name,
              wrong_rank, name, square, name, int(solve_square(5, singular.data(), b.data())));
}

// `steps` of a rule on the small tree, towards a pose that is near, or far and next to a bound; the cost that is left, or
// infinity where a limit was broken
template <class T> double run(int method, int limits, bool posture, bool far, int most) {
  const int steps = std::min(most, method == METHOD_GRADIENT || method == METHOD_TRANSPOSE ? 3000 : 60);
  const small_tree::Problem<T> problem;
  constexpr int m = small_tree::n_rows, n = small_tree::n_v, g = small_tree::n_goals;
  std::vector<T> memory(12 * small_tree::n_primitives + m + 2 * g + m * n + n), step(4 * n + m * (m + 1) + 3 * m);
  std::vector<T> extra = zeros<T>(workspace_of_method(method, limits, m, n));
  T q[small_tree::n_q] = {0, 1, 0, 0, 0, 0, 0}, targets[24];
  T there[small_tree::n_q] = {T(0.5), 1, T(0.2), T(-0.1), T(0.3), T(0.7), T(0.1)};
  const T at_bound[small_tree::n_q] = {T(1.9), 1, T(0.6), T(-0.5), T(0.4), T(1.45), T(0.195)};
  for (int k = 0; far && k < small_tree::n_q; ++k) there[k] = at_bound[k];
  T wanted[small_tree::n_q] = {0, 1, 0, 0, 0, 0, 0}, gain[n] = {1, 1, 1, 1, 1, 1};
  quaternion_normalize(there + 1);
  SearchState<T> s{};
  s.q = q;
  s.placements = memory.data();
  s.rows = s.placements + 12 * small_tree::n_primitives;
  s.errors = s.rows + m;
  s.J = s.errors + 2 * g;
  s.dq = s.J + m * n;
  T* w = step.data();
  const auto take = [&w](int size) { return (w += size) - size; };
  s.work = {take(n), take(n), take(m * (m + 1) / 2), take(m * (m + 1) / 2), take(m), take(m), take(m),
            take(n), take(n)};
  s.extra = extra.data();
  place_all(problem.body, there, s.placements);
  for (int k = 0; k < g; ++k)
    frame_from(problem.goals.frames()[k], s.placements, targets + 12 * k, targets + 12 * k + 9);
  s.cost = evaluate(problem, q, targets, s.placements, s.rows, s.errors);
  Settings<T> settings{method, limits, T(0.1), T(1e-6), T(1), steps, 50, T(1), 3, {T(1), T(1e30), 0, 0}};
  if (method == METHOD_SVD) settings.options[0] = T(1e-3);
  if (method == METHOD_TRANSPOSE) settings.options[0] = T(0);
  for (int k = 0; k < steps; ++k) {
    assemble(problem, s.q, s.placements, targets, s.J);
    propose(problem, settings, posture ? Posture<T>{wanted, gain} : Posture<T>{nullptr, nullptr}, targets, s);
    follow(problem, settings, targets, s);
    for (int c = 0; c < n; ++c) {
      const auto f = problem.freedoms[c];
      if (f.q_index >= 0 && limits != LIMITS_OFF && (q[f.q_index] < f.lower || q[f.q_index] > f.upper)) return 1e30;
    }
  }
  return double(s.cost);
}

// what is left of (J D J^T + damping I) y = rhs when solved in blocks, J's columns in runs of rows; padding must come out as zero
template <class S> double blocks_error(int m, int n, unsigned seed) {
  using T = real_t<S>;
  const int stride = stride_of<S>(m), tall = tall_of<S>(m);
  const auto many = [](int size) { return std::vector<S>(std::size_t(size), S(T(0))); };
  std::vector<S> J = many(m * n), D = many(n), rhs = many(m), y = many(tall), A = many(tall * stride),
                 inverse = many(tall), scaled = many(Strip<S>::width * stride), packed_J = many(n * stride);
  std::vector<Run> runs(std::size_t(n), Run{0, 0});
  for (int c = 0; c < n; ++c) {
    const int first = (c / 2 * 5) % m,
              last = first + 1 + (c / 2 * 7) % (m - first);  // pairs of columns share their rows
    runs[std::size_t(c)] = widened<S>(runs[std::size_t(c)], first, last);
    D[std::size_t(c)] = S(T(1.2 + noise(seed + unsigned(c))));
    for (int r = first; r < last; ++r) J[std::size_t(c * m + r)] = S(T(noise(seed + 31u * unsigned(c) + unsigned(r))));
  }
  for (int r = 0; r < m; ++r) rhs[std::size_t(r)] = S(T(noise(seed + 7000u + unsigned(r))));
  const S damping = S(T(1e-2));
  pack_columns(J.data(), runs.data(), n, m, packed_J.data());
  sum_blocks(packed_J.data(), D.data(), runs.data(), n, m, damping, rhs.data(), A.data());
  solve_blocks(m, A.data(), inverse.data(), scaled.data(), T(1e-30), y.data());
  S worst = S(T(0));
  for (int k = m; k < tall; ++k) worst = maximum(worst, absolute(y[std::size_t(k)]));
  std::vector<S> left = rhs;
  for (int r = 0; r < m; ++r) left[std::size_t(r)] -= damping * y[std::size_t(r)];
  for (int c = 0; c < n; ++c) {
    const S x = D[std::size_t(c)] * dot_run(packed_J.data() + c * stride, y.data(), runs[std::size_t(c)]);
    for (int r = 0; r < m; ++r) left[std::size_t(r)] -= J[std::size_t(c * m + r)] * x;
  }
  for (const S& x : left) worst = maximum(worst, absolute(x));
  S whole = worst;
  double out = 0;
  if constexpr (sizeof(S) == sizeof(T)) {
    out = double(whole);
  } else {
    for (int k = 0; k < ScalarTraits<S>::lanes; ++k) out = maximum(out, double(whole.lane(k)));
  }
  return out;
}

template <class S> double blocks() {
  double worst = 0;
  for (int m = 1; m <= 30; ++m) {
    for (int n = 1; n <= 50; n += 7) worst = maximum(worst, blocks_error<S>(m, n, unsigned(100 * m + n)));
  }
  return worst;
}

}  // namespace

// With an argument: rules make at most so many steps.
int main(int argc, char** argv) {
  const int most = argc > 1 ? std::atoi(argv[1]) : 3000;
  factors<double>("double");
  factors<float>("float");
  std::printf("blocks_double %.3e\nblocks_float %.3e\n", blocks<double>(), blocks<float>());
  std::printf("blocks_pack %.3e\n", blocks<Pack<double, 4>>());
  for (int method = METHOD_LM; method <= METHOD_HALLEY; ++method) {
    for (int limits = LIMITS_ACTIVE; limits <= LIMITS_OFF; ++limits) {
      for (int posture = 0; posture < 2; ++posture) {
        for (int far = 0; far < 2; ++far) {
          std::printf("rule_%d_%d_%d_%d %.3e %.3e\n", method, limits, posture, far,
                      run<double>(method, limits, posture, far, most), run<float>(method, limits, posture, far, most));
        }
      }
    }
  }
  return 0;
}

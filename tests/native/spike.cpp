// spike.cpp: the spike in double, float and packs of both, on the same problems; prints the worst differences.
#include "spike.h"

#include <cstdio>

using namespace poise;

namespace {

constexpr int lanes = 4, problems = 64;

double noise(unsigned i) {
  unsigned x = i * 2654435761u + 12345u;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  return double(x) / 4294967296.0;
}

// a reachable problem: the targets of a random configuration
void make(int i, double* q, double* targets) {
  double x[spike::n_q] = {2 * noise(9 * i) - 1,         1,
                          noise(9 * i + 1) - 0.5,       noise(9 * i + 2) - 0.5,
                          noise(9 * i + 3) - 0.5,       2 * noise(9 * i + 4) - 0.8,
                          0.3 * noise(9 * i + 5) - 0.15};
  quaternion_normalize(x + 1);
  double placements[12 * spike::n_primitives];
  const spike::Problem<double> problem;
  place_all(problem.body, x, placements);
  for (int g = 0; g < 2; ++g) frame_from(problem.goals.frames()[g], placements, targets + 12 * g, targets + 12 * g + 9);
  const double start[spike::n_q] = {0, 1, 0, 0, 0, 0, 0};
  for (int k = 0; k < spike::n_q; ++k) q[k] = start[k];
}

template <class S> void load(int first, S* q, S* targets) {
  for (int l = 0; l < ScalarTraits<S>::lanes; ++l) {
    double x[spike::n_q], t[24];
    make(first + l, x, t);
    for (int k = 0; k < spike::n_q; ++k) {
      if constexpr (ScalarTraits<S>::lanes > 1) {
        q[k].set(l, real_t<S>(x[k]));
      } else {
        q[k] = S(x[k]);
      }
    }
    for (int k = 0; k < 24; ++k) {
      if constexpr (ScalarTraits<S>::lanes > 1) {
        targets[k].set(l, real_t<S>(t[k]));
      } else {
        targets[k] = S(t[k]);
      }
    }
  }
}

template <class S> void solve_all(double* out, double* costs) {
  using T = real_t<S>;
  for (int i = 0; i < problems; i += ScalarTraits<S>::lanes) {
    S q[spike::n_q], targets[24], wanted[spike::n_q], gain[spike::n_v];
    load(i, q, targets);
    for (int k = 0; k < spike::n_q; ++k) wanted[k] = S(T(k == 1));
    for (int k = 0; k < spike::n_v; ++k) gain[k] = S(T(0.1));
    const S cost = spike::run(q, targets, wanted, gain, 12);
    for (int l = 0; l < ScalarTraits<S>::lanes; ++l) {
      for (int k = 0; k < spike::n_q; ++k) {
        if constexpr (ScalarTraits<S>::lanes > 1) {
          out[(i + l) * spike::n_q + k] = double(q[k].lane(l));
        } else {
          out[(i + l) * spike::n_q + k] = double(q[k]);
        }
      }
      if constexpr (ScalarTraits<S>::lanes > 1) {
        costs[i + l] = double(cost.lane(l));
      } else {
        costs[i + l] = double(cost);
      }
    }
  }
}

double worst(const double* a, const double* b, int n) {
  double w = 0;
  for (int i = 0; i < n; ++i) w = maximum(w, absolute(a[i] - b[i]));
  return w;
}

double reference[problems * spike::n_q], other[problems * spike::n_q], cost[problems], other_cost[problems];

}  // namespace

// with an argument: nothing but the answers in double, all their digits
int main(int argc, char**) {
  solve_all<double>(reference, cost);
  if (argc > 1) {
    for (double x : reference) std::printf("%.17g\n", x);
    return 0;
  }
#ifndef ANSWERS_ONLY  // the other scalars take most of the time to compile
  double mean = 0;
  int solved = 0;
  for (double c : cost) {
    mean += c / problems;
    solved += c < 1e-8;
  }
  std::printf("solved %d of %d\n", solved, problems);
  solve_all<Pack<double, lanes>>(other, other_cost);
  std::printf("pack_double %.3e\n", worst(reference, other, problems * spike::n_q));
  solve_all<float>(other, other_cost);
  std::printf("float_cost %.3e\n", worst(cost, other_cost, problems));
  solve_all<Pack<float, 2 * lanes>>(other, other_cost);
  std::printf("pack_float_cost %.3e\n", worst(cost, other_cost, problems));
#endif
  return 0;
}

// rules.cu: every Jacobian rule on the device, one thread one problem.
#include "kernels/methods/rules.h"
#include "small_tree.h"

using namespace poise;

template <class S> __device__ void run_rule(S* q, const S* targets, S* memory, int method, int limits) {
  constexpr int m = small_tree::n_rows, n = small_tree::n_v;
  const small_tree::Problem<S> problem;
  const auto take = [&memory](int size) { return (memory += size) - size; };
  SearchState<S> s{};
  s.q = q;
  s.placements = take(12 * small_tree::n_primitives);
  s.rows = take(m);
  s.errors = take(2 * small_tree::n_goals);
  s.J = take(m * n);
  s.dq = take(n);
  s.work = {take(n), take(n), take(m * (m + 1) / 2), take(m * (m + 1) / 2), take(m), take(m), take(m),
            take(n), take(n)};
  s.extra = memory;
  const Settings<S> settings{method, limits, S(0.1), S(1e-6), S(1), 10, 50, S(1), 3, {S(1), S(1e30), 0, 0}};
  s.cost = evaluate(problem, q, targets, s.placements, s.rows, s.errors);
  for (int k = 0; k < settings.max_steps; ++k) {
    assemble(problem, s.q, s.placements, targets, s.J);
    propose(problem, settings, Posture<S>{nullptr, nullptr}, targets, s);
    follow(problem, settings, targets, s);
  }
}

extern "C" __global__ void rules_float(float* q, const float* targets, float* memory, int method, int limits) {
  run_rule(q, targets, memory, method, limits);
}

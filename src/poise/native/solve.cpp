// solve.cpp: from a start to the best pose: searches, restarts, polish. Compiled once per instruction level.
#include <chrono>

#include "kernels/rules.h"
#include "kernels/sweeps.h"
#include "ops.h"
#include "solver.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = double;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// ---------------------------------------------------------------------------------------------- one search

// a row of the history; the only place that may allocate, and only when asked to record
void note(SolverData& solver) {
  if (!solver.record) return;
  const SearchState<S>& s = solver.state;
  solver.history.insert(solver.history.end(), {static_cast<double>(solver.total_searches), s.cost, s.damping});
  solver.history.insert(solver.history.end(), s.errors, s.errors + 2 * solver.goals.size());
  solver.history.insert(solver.history.end(), s.q, s.q + solver.n_q);
}

// The posture waits until the goals are reached, then moves the body in what they leave free, a step at a time: where such a step
// leads off the goals, the next ones bring it back without the posture. So it can never cost them a search, and what is kept is the
// best posture among the poses that reach.
Posture<S> wish_of(const SolverData& solver) {
  return solver.state.at_goal ? solver.posture() : Posture<S>{nullptr, nullptr};
}

void advance(SolverData& solver) {
  const auto problem = solver.problem();
  SearchState<S>& state = solver.state;
  switch (state.phase) {
    case Phase::FRESH:
      state.cost = evaluate(problem, state.q, solver.targets.data(), state.placements, state.rows, state.errors);
      note(solver);
      judge(problem, solver.settings, solver.posture(), state);
      return;
    case Phase::EVALUATED:
      if (is_sweep(solver.settings.method)) {
        const bool moved = sweep(problem, solver.settings, solver.targets.data(), state);
        if (!moved) state.outcome = Outcome::STALLED;
        state.phase = moved ? Phase::PROPOSED : Phase::DONE;
        return;
      }
      propose(problem, solver.settings, wish_of(solver), solver.targets.data(), state);
      nudge_if_stuck(problem, solver.settings, state);
      state.phase = Phase::PROPOSED;
      return;
    case Phase::PROPOSED:
      follow(problem, solver.settings, solver.targets.data(), state);
      note(solver);
      judge(problem, solver.settings, solver.posture(), state);
      return;
    case Phase::DONE:
      return;
  }
}

void restart(SolverData& solver) {
  copy_configuration(solver.problem(), solver.start.data(), solver.state.q);
  begin_search(solver.problem(), solver.state);
}

// ---------------------------------------------------------------------------------------------- seeds

// the i-th number of the van der Corput sequence in a base: evenly spread in [0, 1) however many are taken
double spread(unsigned i, unsigned base) {
  double x = 0.0, f = 1.0;
  for (; i > 0; i /= base) {
    f /= base;
    x += f * (i % base);
  }
  return x;
}

constexpr unsigned primes[] = {2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,
                               47,  53,  59,  61,  67,  71,  73,  79,  83,  89,  97,  101, 103, 107,
                               109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173};
constexpr unsigned n_primes = sizeof(primes) / sizeof(primes[0]);

// Halton's sequence, one prime a velocity; beyond forty velocities an odd multiplier keeps reused primes apart
double seed_number(const SolverData& solver, unsigned search, unsigned c) {
  const unsigned i = search + 20 + solver.seed * 409u;
  return spread(i * (1 + 2 * (c / n_primes)), primes[c % n_primes]);
}

// A start for search number `search` > 0: even over the middle part of each range, first half of it, then more and more (joints far
// from their bounds have the most ways to go: measured 1.37 against 1.42 searches on the Panda, 1.25 against 1.43 on the UR5); a turn
// or a body length about the start where there is no range.
void seed_start(const SolverData& solver, unsigned search, S* q) {
  constexpr double pi = 3.14159265358979323846;
  for (int c = 0; c < solver.n_v; ++c) {
    const Freedom<S>& f = solver.freedoms[static_cast<std::size_t>(c)];
    if (f.q_index < 0) continue;
    const double half = f.angular ? pi : 0.5 * solver.scale;
    const double middle = solver.start[static_cast<std::size_t>(f.q_index)];
    double low = f.lower, high = f.upper;
    if (!(low > -1e30)) low = high < 1e30 ? high - 2 * half : middle - half;
    if (!(high < 1e30)) high = low + 2 * half;
    const double part = minimum(1.0, 0.5 + 0.025 * (search - 1));
    const double x =
        0.5 * (low + high) + part * (high - low) * (seed_number(solver, search, static_cast<unsigned>(c)) - 0.5);
    q[f.q_index] = minimum(maximum(x, low), high);
  }
  for (const Coordinate& at : solver.coordinates) {
    if (!at.quaternion) continue;
    // three even numbers to an even rotation (Shoemake 1992)
    const auto c = static_cast<unsigned>(at.v_index);
    const double u = seed_number(solver, search, c), a = 2 * pi * seed_number(solver, search, c + 1),
                 b = 2 * pi * seed_number(solver, search, c + 2);
    S sa, ca, sb, cb;
    sine_cosine(a, sa, ca);
    sine_cosine(b, sb, cb);
    S* x = q + at.q_index;
    const double v = square_root(1.0 - u), w = square_root(u);
    x[0] = w * cb;
    x[1] = v * sa;
    x[2] = v * ca;
    x[3] = w * sb;
  }
}

// ---------------------------------------------------------------------------------------------- the whole solve

bool late(const SolverData& solver, Clock::time_point begun) {
  return solver.time_limit >= 0.0 && seconds_since(begun) >= solver.time_limit;
}

// runs the search that has begun; true if time ran out
bool run(SolverData& solver, Clock::time_point begun) {
  while (solver.state.phase != Phase::DONE) {
    advance(solver);
    if (solver.time_limit >= 0.0 && solver.state.phase == Phase::EVALUATED && late(solver, begun)) return true;
  }
  return false;
}

// the best of all searches so far
void keep(SolverData& solver, bool first) {
  const SearchState<S>& state = solver.state;
  solver.total_steps += state.steps;
  const bool closer = first || state.best_outside < solver.best_outside;
  const bool better = closer || (state.best_outside == solver.best_outside &&
                                 (state.best_reached || state.best_cost < solver.best_cost));
  if (!better) return;
  solver.best_outside = state.best_outside;
  solver.winner = solver.total_searches;
  solver.best_cost = state.best_cost;
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = state.best_q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = state.best_errors[k];
  solver.outcome = state.best_reached ? Outcome::REACHED : state.outcome;
}

// a distance that the goal's frame cannot have from a point that cannot move: proof that it is out of reach
bool proved_unreachable(const SolverData& solver) {
  for (const SolverData::Reachable& r : solver.reachable) {
    const GoalSpec<S>& goal = solver.goals[static_cast<std::size_t>(r.goal)];
    const S* p = solver.targets.data() + goal.target + 9;
    const double d[3] = {p[0] - r.center[0], p[1] - r.center[1], p[2] - r.center[2]};
    const double distance = square_root(dot(d, d));
    const double slack = goal.tolerance[0] + 1e-9 * (solver.scale + distance);
    if (distance > r.farthest + slack || distance < r.nearest - slack) return true;
  }
  return false;
}

// Downhill only, with damping that grows when a step fails and shrinks when it works (Marquardt 1963): from the best pose to the
// minimum itself, so that a goal out of reach is answered by the same still pose every time.
template <int M> void polish_rows(SolverData& solver, Clock::time_point begun) {
  const auto problem = solver.problem();
  const S* targets = solver.targets.data();
  SearchState<S>& s = solver.state;
  copy_configuration(problem, solver.best_q.data(), s.q);
  copy_configuration(problem, s.q, s.trial_q);
  s.cost = evaluate(problem, s.q, targets, s.placements, s.rows, s.errors);
  S damping = 1e-3 * s.cost + solver.settings.damping_floor;
  s.damping = damping;
  note(solver);
  int quiet = 0;
  for (int k = 0; k < 4 * solver.settings.max_steps && damping < 1e12 && quiet < 4 && !late(solver, begun); ++k) {
    assemble(problem, s.placements, targets, s.J);
    find_room(problem, solver.settings, s);
    S cost = s.cost;
    for (; damping < 1e12; damping *= 4) {
      bounded_step<M>(problem, s.q, s.J, s.rows, damping, Posture<S>{nullptr, nullptr}, solver.settings.rounds, s.work,
                      s.dq);
      take_step(problem, s.q, s.dq, solver.settings.limits != LIMITS_OFF, s.trial_q);
      cost = evaluate(problem, s.trial_q, targets, s.placements, s.work.y, s.errors);
      if (cost < s.cost) break;
    }
    if (!(cost < s.cost)) break;
    quiet = cost > s.cost * (1.0 - 1e-13) ? quiet + 1 : 0;
    copy_configuration(problem, s.trial_q, s.q);
    s.cost = evaluate(problem, s.q, targets, s.placements, s.rows, s.errors);
    s.damping = damping;
    note(solver);
    damping *= 0.2;
    ++solver.total_steps;
  }
  s.cost = evaluate(problem, s.q, targets, s.placements, s.rows, s.errors);
  const S outside = outside_of(problem, solver.settings, s.q);
  if (outside > solver.best_outside || (outside == solver.best_outside && !(s.cost <= solver.best_cost))) return;
  solver.best_outside = outside;
  solver.best_cost = s.cost;
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = s.q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = s.errors[k];
  if (within_tolerance(problem, s.errors, 1.0) && !(outside > 0.0)) solver.outcome = Outcome::REACHED;
}

void polish(SolverData& solver, Clock::time_point begun) {
  if (solver.n_rows == 6) {
    polish_rows<6>(solver, begun);
  } else if (solver.n_rows == 3) {
    polish_rows<3>(solver, begun);
  } else {
    polish_rows<0>(solver, begun);
  }
}

// joints on which no goal depends, brought back into their ranges
void bring_back_idle(SolverData& solver, bool tethered) {
  if (solver.settings.limits == LIMITS_OFF) return;
  for (const Freedom<S>& f : solver.idle) {
    double& x = solver.start[static_cast<std::size_t>(f.q_index)];
    const double most = tethered ? solver.span * (f.angular ? 1.0 : solver.scale) : 1e300;
    const double inside = minimum(maximum(x, f.lower), f.upper);
    x = minimum(maximum(inside, x - most), x + most);
  }
}

void solve(SolverData& solver) {
  const Clock::time_point begun = Clock::now();
  solver.total_steps = 0;
  solver.total_searches = 0;
  solver.history.clear();
  solver.out_of_time = false;
  solver.proved_unreachable = proved_unreachable(solver);
  const bool tethered = solver.mode == Mode::CONTINUOUS;
  bring_back_idle(solver, tethered);
  solver.state.origin = tethered ? solver.start.data() : nullptr;
  solver.state.span = solver.span;
  const int searches = solver.proved_unreachable || tethered || solver.n_v == 0 ? 1 : solver.searches;
  for (int search = 0; search < searches; ++search) {
    restart(solver);
    if (search > 0) seed_start(solver, static_cast<unsigned>(search), solver.state.q);
    ++solver.total_searches;
    solver.out_of_time = run(solver, begun);
    keep(solver, search == 0);
    if (solver.outcome == Outcome::REACHED || solver.out_of_time) break;
  }
  if (solver.outcome != Outcome::REACHED && solver.polish && !solver.out_of_time) {
    polish(solver, begun);
    solver.out_of_time = late(solver, begun) && solver.outcome != Outcome::REACHED;
  }
  solver.seconds = seconds_since(begun);
}

}  // namespace

extern const SolverOps solver_table;
const SolverOps solver_table = {solve, restart, advance};

}  // namespace POISE_LEVEL
}  // namespace poise

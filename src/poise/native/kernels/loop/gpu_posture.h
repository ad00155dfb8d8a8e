// gpu_posture.h: the posture of a row that reaches its goals, in double, as the strict solver of the CPU follows it
// (run/strict/descent.h).
//
// A step is the minimum of the posture's cost at which the linearised goals stay reached: that of step.h with hardly any
// damping. Corrections follow until no goal is farther off than at first. The step is taken if the posture's cost falls;
// otherwise a shorter one is tried. All of these share one path, so that the threads of a warp execute it together.
//
// A crew does the work: one thread here, a team of them in gpu_team_posture.h.
#pragma once
#include "kernels/loop/lanes.h"

namespace poise {

// The pace of run/strict/tuning.h for a posture; lengths in rad and L, gains and falls relative to the cost.
struct PosturePace {
  double quiet = 1e-4, at_rest = 1e-12, slack = 5e-10, damping = 1e-12;
  double shorten = 0.3, lengthen = 2.0, lengthen_by = 1e-3, shortest = 1e-9;
  int patience = 3, trials = 12, corrections = 5;
  double least_fall = 1e-6;                // a step that promises less is not tried
  double strength = 1e6;                   // of the largest gain, over the usual weight of a joint
  double at_bound = 1e-6, far_away = 1e9;  // [rad or m]
  int rounds = 4;                          // per step that a search may take
};

// the arrays of a descent; separately, so that a compiler keeps the numbers of both in registers
template <class P> struct PostureMemory {
  double guard[2 * P::n_goals], held[P::n_rows], left[P::n_rows], wanted[P::n_q];
};

template <class P, class Crew> struct PostureDescent {
  static constexpr int m = P::n_rows, n = P::n_v, n_errors = 2 * P::n_goals;
  static constexpr PosturePace pace = {};
  enum Turn : int { FRESH, PROPOSE, CORRECT, RETURN };

  const P& problem;
  const Settings<double>& settings;
  const Posture<double>& posture;
  Crew crew;
  SearchState<double>& s;  // the trial is s.q, the best pose s.best_q
  PostureMemory<P>& own;
  double cost = 0.0, trust = 0.0, length = 0.0, strength = 0.0;  // length: of the last trial
  int turn = FRESH, rounds = 0, steps = 0, quiet = 0, trials = 0, corrections = 0;
  bool frozen = false;  // whether the goals stay where they are, instead of returning to their targets

  POISE_FN bool is_bounded() const { return settings.limits != LIMITS_OFF; }

  // starts at s.q, which reaches
  POISE_FN void begin() {
    strength = pace.strength / crew.most(n, [&](int c) { return posture.gain[c] + 1e-300; });
    trust = settings.reach;
    turn = FRESH;
    rounds = steps = quiet = trials = 0;
    frozen = false;
    crew.each(m, [&](int k) { own.held[k] = 0.0; });
  }

  // one round towards the minimum that is downhill; whether the descent is finished
  POISE_FN bool advance() {
    look();
    const bool ended = quiet >= pace.patience || trials >= pace.trials || cost < pace.at_rest ||
                       trust < pace.shortest || steps >= settings.max_steps;
    return ended || !move() || ++rounds >= pace.rounds * settings.max_steps;
  }

  // Evaluates s.q. A trial is taken, is to be corrected, or has failed: then s.q has to return.
  POISE_FN void look() {
    crew.evaluate();
    find_way(s.q);
    const double asked = crew.sum(n, [&](int c) { return posture_cost_of(problem, c, posture, s.work.b[c]); });
    const bool fresh = turn == FRESH, tried = turn == CORRECT;
    if (fresh) {
      crew.each(n_errors, [&](int k) {
        const double slack = s.errors[k] + pace.slack * (k % 2 ? 1.0 : P::scale);
        own.guard[k] = maximum(s.errors[k], minimum(slack, problem.goals[k / 2].tolerance[k % 2]));
      });
    }
    const bool kept = crew.all(n_errors, [&](int k) { return s.errors[k] <= own.guard[k]; }) &&
                      (!is_bounded() || crew.all(n, [&](int c) { return outside_at(problem, c, s.q) <= 0.0; }));
    const bool taken = fresh || (tried && kept && asked < cost);
    const bool failed = tried && !taken && (kept || corrections > pace.corrections);
    if (taken) {
      quiet = !fresh && asked > cost * (1.0 - pace.quiet) ? quiet + 1 : 0;
      steps += fresh ? 0 : 1;
      cost = asked;
      trust = minimum(pace.lengthen * trust + pace.lengthen_by, settings.reach);
      trials = fresh && !kept ? pace.trials : 0;  // outside its ranges: it ends
      crew.each(P::n_q, [&](int k) { s.best_q[k] = s.q[k]; });
    }
    if (failed) trust = pace.shorten * minimum(trust, length);
    trials += failed ? 1 : 0;
    turn = failed ? RETURN : tried && !taken ? CORRECT : PROPOSE;
  }

  // Moves s.q: to the next trial, to its correction, or back to the best pose. False if no step promises anything.
  POISE_FN bool move() {
    if (turn == RETURN) {
      crew.each(P::n_q, [&](int k) { s.q[k] = s.best_q[k]; });
      return true;
    }
    const bool corrects = turn == CORRECT, freezes = !corrects && !frozen && trials == 1;
    crew.each(m, [&](int k) {
      if (freezes) own.held[k] = s.rows[k];
      own.left[k] = s.rows[k] - own.held[k];
    });
    frozen = frozen || freezes;
    const double square = crew.sum(m, [&](int k) { return own.left[k] * own.left[k]; });
    crew.assemble();
    solve(corrects, settings.damping * square + pace.damping);
    if (!corrects && !(predict_fall() > pace.least_fall * cost)) {
      const bool again = !frozen;
      trials = frozen ? trials : 1;
      return again;
    }
    if (!corrects) length = find_longest();
    corrections = corrects ? corrections + 1 : 1;
    turn = CORRECT;
    crew.each(P::n_coordinates, [&](int i) { step_coordinate(problem, i, s.q, s.dq, is_bounded(), s.q); });
    return true;
  }

  // s.work.b: the way from a pose to the posture
  POISE_FN void find_way(const double* q) const {
    crew.each(P::n_coordinates, [&](int i) {
      const Coordinate one[1] = {problem.coordinates[i]};
      difference(one, 1, q, posture.wanted, s.work.b);
    });
  }

  POISE_FN double find_longest() const {
    return crew.most(n, [&](int c) { return length_of(problem, c, s.dq[c]); });
  }

  POISE_FN void find_room(bool bounded, double reach) const {
    crew.each(n, [&](int c) { room_of_velocity(problem, c, s.q, bounded, reach, s.work.low[c], s.work.high[c]); });
  }

  // Solves a step. One towards the posture is first solved without the ranges, since those that only a long step meets
  // must not bend a short one. If joints then leave their ranges, they are fixed there, or, after a failed trial, only
  // those at the end of their range are, and the step ends at the first range that it meets.
  POISE_FN void solve(bool corrects, double damping) {
    Posture<double> wish = {corrects ? nullptr : posture.wanted, corrects ? nullptr : posture.gain, strength};
    POISE_ROLLED
    for (int pass = corrects ? 1 : 0; pass < 2; ++pass) {
      find_room(is_bounded() && pass == 1, pass == 1 ? settings.reach : pace.far_away);
      if (!corrects && trials > 0) open_room();
      crew.step(own.left, corrects ? damping : damping / strength, wish);
      const double part = corrects ? 1.0 : minimum(1.0, trust / maximum(find_longest(), 1e-300));
      if (corrects || !shorten(part) || pass == 1) return;
      find_way(s.q);
      crew.each(n, [&](int c) { s.work.b[c] *= part; });
      crew.each(P::n_coordinates, [&](int i) {
        const Coordinate one[1] = {problem.coordinates[i]};
        integrate(one, 1, s.q, s.work.b, own.wanted);
      });
      wish.wanted = own.wanted;
    }
  }

  POISE_FN void open_room() const {
    crew.each(n, [&](int c) {
      s.work.low[c] = s.work.low[c] > -pace.at_bound ? s.work.low[c] : -pace.far_away;
      s.work.high[c] = s.work.high[c] < pace.at_bound ? s.work.high[c] : pace.far_away;
    });
  }

  // Shortens the step to a part of it, and to the first end of a range; true if it meets one.
  POISE_FN bool shorten(double part) const {
    find_room(is_bounded(), settings.reach);
    const double cut = crew.most(n, [&](int c) {
      const double dq = part * s.dq[c], room = dq > 0.0 ? s.work.high[c] : s.work.low[c];
      return absolute(dq) > absolute(room) ? 1.0 - room / dq : 0.0;
    });
    crew.each(n, [&](int c) { s.dq[c] *= part * (1.0 - cut); });
    return cut > 0.0;
  }

  // The fall of the posture's cost along s.dq, with the manifold as a plane.
  POISE_FN double predict_fall() const {
    find_way(s.q);
    return crew.sum(n, [&](int c) {
      return posture.gain[c] * (2.0 * s.work.b[c] - s.dq[c]) * s.dq[c] / problem.freedoms[c].unit2;
    });
  }
};

// one thread, which has the memory of a search
template <int M, class P> struct PostureThread {
  const P& problem;
  const Settings<double>& settings;
  const double* targets;
  SearchState<double>& s;

  template <class F> POISE_FN void each(int count, const F& f) const {
    POISE_UNROLL_BODY
    for (int k = 0; k < count; ++k) f(k);
  }
  template <class F> POISE_FN double sum(int count, const F& f) const {
    double sum = 0.0;
    each(count, [&](int k) { sum += f(k); });
    return sum;
  }
  template <class F> POISE_FN double most(int count, const F& f) const {
    double most = 0.0;
    each(count, [&](int k) { most = maximum(most, f(k)); });
    return most;
  }
  template <class F> POISE_FN bool all(int count, const F& f) const {
    bool good = true;
    each(count, [&](int k) { good = f(k) && good; });
    return good;
  }

  POISE_FN void evaluate() const { poise::evaluate(problem, s.q, targets, s.placements, s.rows, s.errors); }
  POISE_FN void assemble() const { poise::assemble(problem, s.q, s.placements, targets, s.J); }
  POISE_FN void step(const double* left, double damping, const Posture<double>& wish) const {
    bounded_step<M>(problem, s.q, s.J, left, damping, wish, settings.rounds, s.work, s.dq);
  }
};

// Moves the pose s.q, which reaches, to the minimum of the posture, s.best_q; returns the number of steps.
template <int M, class P> POISE_FN int follow_posture(const P& problem, const Settings<double>& settings,
                                                      const Posture<double>& posture, const double* targets,
                                                      SearchState<double>& s) {
  PostureMemory<P> own;
  PostureDescent<P, PostureThread<M, P>> descent{problem, settings, posture, {problem, settings, targets, s}, s, own};
  descent.begin();
  // ends: after some rounds per step
  while (!descent.advance()) {}
  return descent.steps;
}

}  // namespace poise

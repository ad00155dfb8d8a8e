// gpu_posture.h: the posture of a row that reaches its goals, in double, as the strict solver of the CPU follows it
// (run/strict/descent.h).
//
// A step is the minimum of the posture's cost at which the linearised goals stay reached: that of step.h with hardly any
// damping. Corrections follow until no goal is farther off than at first. The step is taken if the posture's cost falls;
// otherwise a shorter one is tried. All of these share one path, so that the threads of a warp execute it together.
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
  bool stops[P::n_rows];  // rows with a range that a trial has left: steps end at its edge
};

template <int M, class P> struct PostureDescent {
  static constexpr int m = P::n_rows, n = P::n_v, n_errors = 2 * P::n_goals;
  static constexpr PosturePace pace = {};
  enum Turn : int { FRESH, PROPOSE, CORRECT, RETURN };

  const P& problem;
  const Settings<double>& settings;
  const Posture<double>& posture;
  const double* targets;
  SearchState<double>& s;  // the trial is s.q, the best pose s.best_q
  PostureMemory<P>& own;
  double cost = 0.0, trust = 0.0, strength = 0.0;
  int turn = FRESH, steps = 0, quiet = 0, trials = 0, corrections = 0;
  bool stopped = false;  // whether some row is to end at the edge of its range
  bool frozen = false;   // whether the goals stay where they are, instead of returning to their targets

  POISE_FN bool is_bounded() const { return settings.limits != LIMITS_OFF; }

  // From s.q, which reaches, to the minimum that is downhill of it; returns the number of steps.
  POISE_FN int run() {
    double most = 1e-300;
    POISE_UNROLL_BODY
    for (int c = 0; c < n; ++c) most = maximum(most, posture.gain[c]);
    strength = pace.strength / most;
    trust = settings.reach;
    POISE_UNROLL_ROWS
    for (int k = 0; k < m; ++k) own.held[k] = 0.0;
    release();
    POISE_ROLLED
    for (int round = 0; round < pace.rounds * settings.max_steps; ++round) {
      look();
      const bool ended = quiet >= pace.patience || trials >= pace.trials || cost < pace.at_rest ||
                         trust < pace.shortest || steps >= settings.max_steps;
      if (ended || !move()) break;
    }
    return steps;
  }

  // Evaluates s.q. A trial is taken, is to be corrected, or has failed: then s.q has to return.
  POISE_FN void look() {
    s.cost = evaluate(problem, s.q, targets, s.placements, s.rows, s.errors, s.room);
    const double asked = posture_cost(problem, s.q, posture, s.work.b);
    const bool fresh = turn == FRESH, tried = turn == CORRECT;
    bool kept = outside_of<double>(problem, settings, s.q) <= 0.0;
    POISE_UNROLL_BODY
    for (int k = 0; k < n_errors; ++k) {
      const double slack = s.errors[k] + pace.slack * (k % 2 ? 1.0 : P::scale),
                   most = problem.goals[k / 2].tolerance[k % 2];
      if (fresh) own.guard[k] = maximum(s.errors[k], minimum(slack, most));
      kept = kept && s.errors[k] <= own.guard[k];
    }
    if constexpr (may_weigh<P>()) {
      for (int k = 0; k < m && tried && corrections == 1; ++k)
        own.stops[k] = own.stops[k] || (s.rows[k] != 0.0 && s.room[2 * k] <= s.room[2 * k + 1]);
      for (int k = 0; k < m; ++k) stopped = stopped || own.stops[k];
    }
    const bool taken = fresh || (tried && kept && asked < cost);
    const bool failed = tried && !taken && (kept || corrections > pace.corrections);
    if (taken) {
      quiet = !fresh && asked > cost * (1.0 - pace.quiet) ? quiet + 1 : 0;
      steps += fresh ? 0 : 1;
      cost = asked;
      trust = minimum(pace.lengthen * trust + pace.lengthen_by, settings.reach);
      trials = fresh && !kept ? pace.trials : 0;  // outside its ranges: it ends
      copy_configuration(problem, s.q, s.best_q);
    }
    trust *= failed ? pace.shorten : 1.0;
    trials += failed ? 1 : 0;
    turn = failed ? RETURN : tried && !taken ? CORRECT : PROPOSE;
  }

  // Moves s.q: to the next trial, to its correction, or back to the best pose. False if no step promises anything.
  POISE_FN bool move() {
    if (turn == RETURN) {
      copy_configuration(problem, s.best_q, s.q);
      return true;
    }
    const bool corrects = turn == CORRECT, freezes = !corrects && !frozen && trials == 1;
    double square = 0.0;
    POISE_UNROLL_ROWS
    for (int k = 0; k < m; ++k) {
      if (freezes) own.held[k] = s.rows[k];
      own.left[k] = s.rows[k] - own.held[k];
      if (may_weigh<P>() && !corrects && own.stops[k] && s.rows[k] == 0.0) stop_at_edge(k);
      square += own.left[k] * own.left[k];
    }
    frozen = frozen || freezes;
    assemble(problem, s.q, s.placements, targets, s.J, s.room);
    solve(corrects, settings.damping * square + pace.damping);
    if (!corrects && !(predict_fall() > pace.least_fall * cost)) {
      const bool again = !frozen || stopped;
      trials = frozen ? trials : 1;
      release();
      return again;
    }
    if (!corrects) trust = minimum(trust, longest_of(problem, s.dq));
    corrections = corrects ? corrections + 1 : 1;
    turn = CORRECT;
    take_step(problem, s.q, s.dq, is_bounded(), s.q);
    return true;
  }

  POISE_FN void release() {
    POISE_UNROLL_ROWS
    for (int k = 0; k < m; ++k) own.stops[k] = false;
    stopped = false;
  }

  // Makes a row that is inside its range move to the edge, which the room then no longer allows to omit.
  POISE_FN void stop_at_edge(int k) {
    own.left[k] = -s.room[2 * k] < s.room[2 * k + 1] ? s.room[2 * k] : s.room[2 * k + 1];
    s.room[2 * k] = 1.0;
    s.room[2 * k + 1] = -1.0;
  }

  // Solves a step. One towards the posture is first solved without the ranges, since those that only a long step meets
  // must not bend a short one. If joints then leave their ranges, they are fixed there, or, after a failed trial, only
  // those at the end of their range are, and the step ends at the first range that it meets.
  POISE_FN void solve(bool corrects, double damping) {
    Posture<double> wish = {corrects ? nullptr : posture.wanted, corrects ? nullptr : posture.gain, strength};
    POISE_ROLLED
    for (int pass = corrects ? 1 : 0; pass < 2; ++pass) {
      room_to_move(problem, s.q, is_bounded() && pass == 1, pass == 1 ? settings.reach : pace.far_away, s.work);
      if (!corrects && trials > 0) open_room();
      bounded_step<M>(problem, s.q, s.J, own.left, corrects ? damping : damping / strength, wish, settings.rounds,
                      s.work, s.dq);
      const double part = corrects ? 1.0 : minimum(1.0, trust / maximum(longest_of(problem, s.dq), 1e-300));
      if (corrects || !shorten(part) || pass == 1) return;
      difference(problem.coordinates, problem.n_coordinates, s.q, posture.wanted, s.work.b);
      POISE_UNROLL_BODY
      for (int c = 0; c < n; ++c) s.work.b[c] *= part;
      integrate(problem.coordinates, problem.n_coordinates, s.q, s.work.b, own.wanted);
      wish.wanted = own.wanted;
    }
  }

  POISE_FN void open_room() {
    POISE_UNROLL_BODY
    for (int c = 0; c < n; ++c) {
      s.work.low[c] = s.work.low[c] > -pace.at_bound ? s.work.low[c] : -pace.far_away;
      s.work.high[c] = s.work.high[c] < pace.at_bound ? s.work.high[c] : pace.far_away;
    }
  }

  // Shortens the step to a part of it, and to the first end of a range; true if it meets one.
  POISE_FN bool shorten(double part) {
    double share = 1.0;
    room_to_move(problem, s.q, is_bounded(), settings.reach, s.work);
    POISE_UNROLL_BODY
    for (int c = 0; c < n; ++c) {
      const double dq = part * s.dq[c], room = dq > 0.0 ? s.work.high[c] : s.work.low[c];
      if (absolute(dq) > absolute(room)) share = minimum(share, room / dq);
    }
    POISE_UNROLL_BODY
    for (int c = 0; c < n; ++c) s.dq[c] *= part * share;
    return share < 1.0;
  }

  // The fall of the posture's cost along s.dq, with the manifold as a plane.
  POISE_FN double predict_fall() const {
    difference(problem.coordinates, problem.n_coordinates, s.q, posture.wanted, s.work.b);
    double fall = 0.0;
    POISE_UNROLL_BODY
    for (int c = 0; c < n; ++c)
      fall += posture.gain[c] * (2.0 * s.work.b[c] - s.dq[c]) * s.dq[c] / problem.freedoms[c].unit2;
    return fall;
  }
};

// Moves the pose s.q, which reaches, to the minimum of the posture, s.best_q; returns the number of steps.
template <int M, class P> POISE_FN int follow_posture(const P& problem, const Settings<double>& settings,
                                                      const Posture<double>& posture, const double* targets,
                                                      SearchState<double>& s) {
  PostureMemory<P> own;
  return PostureDescent<M, P>{problem, settings, posture, targets, s, own}.run();
}

}  // namespace poise

// gpu_team_posture.h: the posture of a whole body: the descent of gpu_posture.h by a team of threads.
//
// Rows with a range (the edges of a balance) are inequalities of a step: one is active if the step would leave the range
// there, and until its multiplier pulls instead of pushing (Nocedal and Wright, Numerical Optimization, 16.5).
#pragma once
#include "kernels/loop/gpu_searches.h"

namespace poise {

constexpr int most_row_changes = 12;  // of one step

// what a balance adds to the memory of a descent
template <bool weighs, class P> struct EdgeMemory {
  double room[2 * P::n_rows], along[P::n_rows];  // along: J dq
  bool active[P::n_rows];
};
template <class P> struct EdgeMemory<false, P> {};

// the numbers of a body that follows its posture
template <class P> struct RestMemory {
  TeamMemory<P, double> search;
  PostureMemory<P> own;
  EdgeMemory<may_weigh<P>(), P> edges;
  double b[P::n_v];
};

// the rows of a step: all are active
template <bool weighs, class P, class Search> struct RestRules {
  RestMemory<P>& memory;
  double damping;
  bool changes;
  POISE_FN constexpr bool is_active(int) const { return true; }
  POISE_FN double damping_of(int) const { return damping; }
  POISE_FN void begin(const Search&) const {}
  POISE_FN constexpr bool change(const Search&, int) const { return false; }
};

// the rows of a step with a balance
template <class P, class Search> struct RestRules<true, P, Search> {
  static constexpr double nearby = 0.01;  // [L] an edge farther away is not active at first
  RestMemory<P>& memory;
  double damping;
  bool changes;

  POISE_FN bool is_active(int r) const { return memory.edges.active[r]; }
  POISE_FN double damping_of(int r) const { return is_active(r) ? damping : 1.0; }
  POISE_FN double edge_of(int r) const { return memory.edges.room[2 * r]; }
  POISE_FN bool is_ranged(int r) const { return edge_of(r) <= memory.edges.room[2 * r + 1]; }

  // rhs has the rows' aims
  POISE_FN void begin(const Search& search) const {
    search.share(P::n_rows, [&](int r) {
      auto& edges = memory.edges;
      edges.active[r] = !is_ranged(r) || edge_of(r) > 0.0 || (edges.active[r] && edge_of(r) > -nearby);
      if (is_ranged(r)) memory.search.rhs[r] = is_active(r) ? edge_of(r) : 0.0;
    });
  }

  // activates the row that the step leaves farthest, or else releases the one that pulls hardest
  POISE_FN bool change(const Search& search, int round) const {
    if (!changes) return false;
    auto& edges = memory.edges;
    const auto& numbers = memory.search;
    search.share(P::n_rows, [&](int r) {
      double sum = 0.0;
      for (int c = 0; c < P::n_v && is_ranged(r); ++c) sum += numbers.J[c * Search::odd + r] * numbers.dq[c];
      edges.along[r] = sum;
    });
    int who = -1;
    double most = PosturePace{}.slack;
    for (int r = 0; r < P::n_rows; ++r) {
      if (!is_ranged(r) || edges.active[r] || !(edge_of(r) - edges.along[r] > most)) continue;
      who = r;
      most = edge_of(r) - edges.along[r];
    }
    const bool adds = who >= 0;
    most = 0.0;
    for (int r = 0; r < P::n_rows && !adds; ++r) {
      if (!is_ranged(r) || !edges.active[r] || !(numbers.y[r] < most)) continue;
      who = r;
      most = numbers.y[r];
    }
    search.team.wait();
    if (who < 0 || round >= most_row_changes) return false;
    if (search.team.rank() == 0) {
      edges.active[who] = adds;
      memory.search.rhs[who] += adds ? edge_of(who) : -edge_of(who);
    }
    search.team.wait();
    return true;
  }
};

// the threads of a team, as the crew of a descent
template <class P, class Team> struct PostureTeam {
  using Search = TeamSearch<P, double, Team>;
  Search& search;
  RestMemory<P>& memory;

  template <class F> POISE_FN void each(int count, const F& f) const { search.share(count, f); }
  template <class F> POISE_FN double sum(int count, const F& f) const {
    double sum = 0.0;
    for (int k = search.team.rank(); k < count; k += Team::size()) sum += f(k);
    return search.team.total(sum);
  }
  template <class F> POISE_FN double most(int count, const F& f) const {
    double most = 0.0;
    for (int k = search.team.rank(); k < count; k += Team::size()) most = maximum(most, f(k));
    return search.team.most(most);
  }
  template <class F> POISE_FN bool all(int count, const F& f) const {
    bool good = true;
    for (int k = search.team.rank(); k < count; k += Team::size()) good = f(k) && good;
    return !search.team.any(!good);
  }

  POISE_FN void evaluate() const { search.evaluate_together(); }
  POISE_FN void assemble() const { search.assemble_together(); }

  POISE_FN void step(const double* left, double damping, const Posture<double>& wish) const {
    auto& numbers = memory.search;
    const P& problem = search.problem;
    each(P::n_coordinates, [&](int i) {
      const Coordinate one[1] = {problem.coordinates[i]};
      if (wish.gain) difference(one, 1, numbers.q, wish.wanted, memory.b);
    });
    each(P::n_v, [&](int c) {
      numbers.inverse_D[c] = problem.freedoms[c].unit2 / problem.freedoms[c].weight;
      if (wish.gain)
        add_posture(problem, c, wish, memory.b[c], numbers.inverse_D[c]);
      else
        memory.b[c] = 0.0;
    });
    each(P::n_rows, [&](int r) { numbers.rhs[r] = left[r]; });
    RestRules<may_weigh<P>(), P, Search> rules{memory, damping, wish.gain != nullptr};
    rules.begin(search);
    search.step_together(memory.b, search.settings.rounds, rules);
  }
};

// a body on its way to its posture, as run_searches runs it
template <class P, class Team> struct TeamDescent {
  using Search = TeamSearch<P, double, Team>;
  Search& search;
  RestMemory<P>& memory;
  const Posture<double>& posture;
  SearchState<double> s = {};
  PostureDescent<P, PostureTeam<P, Team>> descent = {search.problem, search.settings, posture, {search, memory}, s,
                                                     memory.own};

  POISE_FN void begin() {
    auto& numbers = memory.search;
    s.q = numbers.q;
    s.best_q = numbers.best_q;
    s.rows = numbers.rows;
    s.errors = numbers.errors;
    s.dq = numbers.dq;
    s.work.b = memory.b;
    s.work.low = numbers.low;
    s.work.high = numbers.high;
    if constexpr (may_weigh<P>()) {
      search.room = memory.edges.room;
      search.share(P::n_rows, [&](int r) {
        memory.edges.room[2 * r] = 1.0;
        memory.edges.room[2 * r + 1] = -1.0;
        memory.edges.active[r] = false;
      });
    }
    descent.begin();
  }
  POISE_FN bool advance() { return descent.advance(); }
};

// Moves the poses that reach, in `finished` if `finish` and otherwise in q, to their posture. Where the goals are too
// fine for T, a pose remains.
template <bool finish, class Io, class Next> struct RestingRows {
  const Io& io;
  Next next;
  int row = -1;

  template <class P, class Team> POISE_FN bool begin(TeamDescent<P, Team>& body) {
    auto& search = body.search;
    // ends: every round takes a row
    for (;;) {
      row = search.team.from(search.team.rank() == 0 ? next() : 0, 0);
      if (row >= io.rows) return false;
      if (!io.reached[row]) continue;
      const long long at = static_cast<long long>(row) * P::model_q;
      search.share(P::n_goals, [&](int g) { load_target(search.problem, io, row, g, search.memory.targets); });
      search.share(P::n_q, [&](int k) {
        search.memory.q[k] = finish ? io.finished[at + P::place(k)] : double(io.q[at + P::place(k)]);
      });
      body.begin();
      return true;
    }
  }

  template <class Body> POISE_FN bool is_void(const Body&) const { return false; }

  template <class P, class Team> POISE_FN void end(TeamDescent<P, Team>& body) const {
    using T = typename Io::Real;
    auto& search = body.search;
    auto& memory = search.memory;
    search.share(P::n_q, [&](int k) { memory.q[k] = finish ? memory.best_q[k] : double(T(memory.best_q[k])); });
    search.share(P::n_v, [&](int c) {
      const auto f = search.problem.freedoms[c];
      if (!finish && P::bounded && f.q_index >= 0)
        memory.q[f.q_index] = double(kept_inside<T>(memory.best_q[f.q_index], {0, f.lower, f.upper}));
    });
    search.evaluate_together();
    if (search.team.rank() == 0) io.steps[row] += body.descent.steps;
    if (!within_tolerance(search.problem, memory.errors, 1.0)) return search.team.wait();
    const long long at = static_cast<long long>(row) * P::model_q;
    search.share(P::n_q, [&](int k) {
      if (finish)
        io.finished[at + P::place(k)] = memory.q[k];
      else
        io.q[at + P::place(k)] = T(memory.q[k]);
    });
    search.share(2 * P::n_goals, [&](int k) { io.errors[2LL * P::n_goals * row + k] = memory.errors[k]; });
  }
};

}  // namespace poise

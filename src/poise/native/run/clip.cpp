// clip.cpp: a whole clip at once, compiled once per instruction level.
//
//   minimise  sum_t |w r(q_t)|^2 + hold |d_t|^2 + smooth |d_{t-1} - 2 d_t + d_{t+1}|^2,     d_t = q_t (-) guide_t
//   with      r(q_t) = 0 for the hard goals, and every joint inside its range
//
// Gauss and Newton over all frames: each step is one banded system (banded.h). Hard goals are rows with a weight that grows from step
// to step; at the end every frame comes to them by itself, which moves it by what the weight has left, and that is next to nothing.
// A joint at the end of its range that is pushed against it takes no part in a step; one that would cross it stops there.
#include <algorithm>
#include <cmath>

#include "kernels/algebra/banded.h"
#include "kernels/algebra/factor.h"
#include "kernels/loop/step.h"
#include "memory/clip_data.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = double;

// Reasons stand beside the numbers; rows are in units of the body's length, so they hold for bodies of every size.
struct ClipTuning {
  S first_weight =
      1e2;         // of hard goals in the first step, squared: more would forbid the turn by which a leg gets there
  S growth = 1e2;  // from step to step
  S last_weight = 1e6;   // leaves about a millionth of the length, which each frame then makes good by itself
  S most_turn = 0.6;     // radians in one step: beyond it the rows' own slope is of no use
  int corrections = 12;  // steps by which a frame comes to its hard goals; two or three are enough unless it cannot
  int rounds = 4;        // of one such step: joints that have no room are left out, one round after the other
  S exact = 1e-13;       // of the length: come to them
  S dependent =
      2e-3;  // of the longest row: what less is left of is not corrected; a straight limb would be bent for nothing
  S least_gain = 1e-10;   // of the cost: less is rest
  int most_dampings = 6;  // tries with more damping before a step is given up
};
constexpr ClipTuning tuning;

class Clip {
 public:
  explicit Clip(ClipData& data)
      : d(data), solver(*data.solver), problem(solver.problem()), n(solver.n_v), m(solver.n_rows) {}

  void run() {
    measure(d.q.data(), d.displacement.data());
    S weight = tuning.first_weight;
    S damping = 0.0;
    S cost = look_at_all(d.q.data(), d.displacement.data(), weight, false);
    for (d.steps = 0; d.steps < d.max_steps && !over(); ++d.steps) {
      S gained = 0.0;
      const bool stepped = take_step_of_all(weight, cost, damping, gained);
      const bool last = weight >= tuning.last_weight;
      if (last && (!stepped || largest_step() < d.rest || gained < tuning.least_gain * cost)) {
        d.settled = true;
        break;
      }
      if (!last) {
        weight = std::min(weight * tuning.growth, tuning.last_weight);
        cost = look_at_all(d.q.data(), d.displacement.data(), weight, false);
      }
    }
    for (int t = 0; t < d.frames && !over(); ++t) {
      if (!d.frozen[at(t)]) correct_frame(t);
    }
    measure(d.q.data(), d.displacement.data());
    d.cost = look_at_all(d.q.data(), d.displacement.data(), tuning.last_weight, true);
  }

 private:
  ClipData& d;
  SolverData& solver;
  const Problem<S, BodyView<S>, GoalList<S>> problem;
  const int n, m;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  S* q_of(std::vector<S>& q, int t) const { return q.data() + at(t) * at(solver.n_q); }
  S* of_frame(std::vector<S>& x, int t) const { return x.data() + at(t) * at(n); }
  const S* targets_of(int t) const { return d.targets.data() + at(t) * at(d.n_targets); }

  bool over() { return d.called_off = d.called_off || solver.watch.called_off(); }

  void measure(const S* q, S* displacement) const {
    for (int t = 0; t < d.frames; ++t) {
      const std::size_t here = at(t) * at(solver.n_q);
      difference(problem.coordinates, problem.n_coordinates, d.guide.data() + here, q + here,
                 displacement + at(t) * at(n));
    }
  }

  // rows of one frame, weighted; `errors` gets metres and radians of each goal
  void look_at_frame(int t, const S* q, S weight, S* rows, S* errors) {
    evaluate(problem, q, targets_of(t), solver.state.placements, rows, errors, solver.state.room);
    scale_rows(t, weight, rows, 1, m);
  }

  // each row by what its goal weighs at this frame; `stride` apart, for one row of numbers or many
  void scale_rows(int t, S weight, S* rows, int columns, int stride) const {
    const S root = std::sqrt(weight);
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const S w = d.weights[at(t) * solver.goals.size() + at(g)] * (d.hard[at(g)] ? root : 1.0);
      if (w == 1.0) continue;
      for (int c = 0; c < columns; ++c) {
        for (int k = 0; k < rows_of_goal(goal); ++k) rows[c * stride + goal.first_row + k] *= w;
      }
    }
  }

  // the cost of all frames, and their errors if they are wanted
  S look_at_all(const S* q, const S* displacement, S weight, bool keep) {
    S cost = 0.0;
    for (int t = 0; t < d.frames && !over(); ++t) {
      S* errors = keep ? d.errors.data() + at(t) * 2 * solver.goals.size() : solver.state.errors;
      look_at_frame(t, q + at(t) * at(solver.n_q), weight, d.rows.data(), errors);
      for (int r = 0; r < m; ++r) cost += d.rows[at(r)] * d.rows[at(r)];
      cost += cost_between(t, displacement);
    }
    return cost;
  }

  S cost_between(int t, const S* displacement) const {
    const S* x = displacement + at(t) * at(n);
    const bool inner = t > 0 && t + 1 < d.frames;
    S cost = 0.0;
    for (int c = 0; c < n; ++c) {
      const S bend = inner ? x[c - n] - 2.0 * x[c] + x[c + n] : 0.0;
      cost += d.hold[at(c)] * x[c] * x[c] + d.smooth[at(c)] * bend * bend;
    }
    return cost;
  }

  // ---------------------------------------------------------------------------------------------- one step of all frames

  // the factor of frames t and t + apart in the sum of squared second differences
  S coupling(int t, int apart) const {
    const int last = d.frames - 1;
    if (last < 2 || t + apart > last) return 0.0;
    if (apart == 2) return 1.0;
    const auto inside = [&](int k) { return k >= 1 && k < last ? 1.0 : 0.0; };  // a second difference about frame k
    if (apart == 1) return -2.0 * (inside(t) + inside(t + 1));
    return inside(t - 1) + 4.0 * inside(t) + inside(t + 1);
  }

  // minus half the gradient of hold and smooth at one velocity of one frame
  S pull(int t, int c) const {
    const S* x = d.displacement.data() + c;
    S sum = d.hold[at(c)] * x[at(t) * at(n)];
    for (int k = std::max(t - 2, 0); k <= std::min(t + 2, d.frames - 1); ++k) {
      sum += d.smooth[at(c)] * coupling(std::min(t, k), std::abs(t - k)) * x[at(k) * at(n)];
    }
    return -sum;
  }

  // whether a joint at the end of its range is pushed out of it
  bool pushed_out(int c, const S* q, S force) const {
    const auto& f = problem.freedoms[c];
    if (f.q_index < 0 || solver.settings.limits == LIMITS_OFF) return false;
    return (q[f.q_index] <= f.lower && force < 0.0) || (q[f.q_index] >= f.upper && force > 0.0);
  }

  // J, rows and force of a frame; the velocities that are held there
  void assemble_frame(int t, S weight) {
    const S* q = q_of(d.q, t);
    look_at_frame(t, q, weight, d.rows.data(), solver.state.errors);
    assemble(problem, solver.state.placements, targets_of(t), d.J.data(), solver.state.room);
    scale_rows(t, weight, d.J.data(), n, m);
    for (int c = 0; c < n; ++c) {
      S force = pull(t, c);
      for (int r = 0; r < m; ++r) force += d.J[at(c * m + r)] * d.rows[at(r)];
      const bool held = d.frozen[at(t)] || pushed_out(c, q, force);
      d.held[at(t) * at(n) + at(c)] = held;
      of_frame(d.gradient, t)[c] = held ? 0.0 : force;
    }
  }

  // J^T J of the frame into block `which` of the front, with its diagonal and the right side
  void add_frame(const BandFront<S>& front, int which, int t, S damping) {
    const int base = which * front.block;
    const char* held = d.held.data() + at(t) * at(n);
    pack_rows_of(held);
    constexpr int W = Strip<S>::width;
    const int wide = front.block;
    for (int j = 0; j < wide; j += W) {
      for (int i = j; i < wide; i += W)
        add_normal_block(i, j, front.A + (base)*front.stride + base, front.stride, wide);
    }
    for (int c = 0; c < n; ++c) {
      S* column = front.A + (base + c) * front.stride;
      column[base + c] += held[c] ? 1.0 : d.hold[at(c)] + d.smooth[at(c)] * coupling(t, 0) + damping;
      column[3 * front.block] += of_frame(d.gradient, t)[c];
    }
  }

  // J^T, a row of J after the other in whole blocks, without the velocities that are held
  void pack_rows_of(const char* held) {
    const int wide = band_block<S>(n);
    for (int r = 0; r < m; ++r) {
      S* to = d.scratch.data() + at(r) * at(wide);
      for (int c = 0; c < n; ++c) to[c] = held[c] ? 0.0 : d.J[at(c * m + r)];
    }
  }

  void add_normal_block(int i, int j, S* A, int stride, int wide) const {
    using Row = Strip<S>::Row;
    constexpr int W = Strip<S>::width;
    Row sum[W];
    for (int k = 0; k < W; ++k) sum[k] = load_rows(A + (j + k) * stride + i);
    for (int r = 0; r < m; ++r) {
      const S* row = d.scratch.data() + at(r) * at(wide);
      const Row x = load_rows(row + i);
      for (int k = 0; k < W; ++k) sum[k] += x * Row(row[j + k]);
    }
    for (int k = 0; k < W; ++k) store_rows(A + (j + k) * stride + i, sum[k]);
  }

  void couple(const BandFront<S>& front, int t, int which, int apart) {
    if (t + apart >= d.frames) return;
    const S factor = coupling(t, apart);
    for (int c = 0; c < n; ++c) {
      if (d.held[at(t) * at(n) + at(c)] || d.held[at(t + apart) * at(n) + at(c)]) continue;
      front.A[((which)*front.block + c) * front.stride + (which + apart) * front.block + c] += d.smooth[at(c)] * factor;
    }
  }

  // d.step from the banded system; frames are assembled as the front comes to them
  void solve_band(S weight, S damping) {
    const BandFront<S> front = make_front(n, d.front.data());
    for (int which = 0; which < frames_met; ++which) clear_frame(front, which);
    const auto enter = [&](int which, int t) {
      if (t >= d.frames) {
        for (int c = 0; c < n; ++c) front.A[(which * front.block + c) * front.stride + which * front.block + c] = 1.0;
        return;
      }
      assemble_frame(t, weight);
      add_frame(front, which, t, damping);
      for (int apart = 1; apart <= 2; ++apart) {
        if (t - apart >= 0 && which - apart >= 0) couple(front, t - apart, which - apart, apart);
      }
    };
    for (int which = 0; which < frames_met; ++which) enter(which, which);
    const std::size_t kept = static_cast<std::size_t>(size_of_band_frame<S>(n));
    for (int t = 0; t < d.frames && !over(); ++t) {
      eliminate_frame(front, 1e-30, d.factors.data() + at(t) * kept);
      shift_front(front);
      enter(2, t + 3);
    }
    for (int t = d.frames - 1; t >= 0; --t) {
      const S* next = t + 1 < d.frames ? of_frame(d.step, t + 1) : nullptr;
      const S* after = t + 2 < d.frames ? of_frame(d.step, t + 2) : nullptr;
      substitute_frame(n, d.factors.data() + at(t) * kept, next, after, of_frame(d.step, t));
    }
  }

  // steps of a frame that lead too far are shortened; a frame goes its own way then, and comes back in the next steps
  void shorten_steps() {
    for (int t = 0; t < d.frames; ++t) {
      S* x = of_frame(d.step, t);
      S longest = 0.0;
      for (int c = 0; c < n; ++c) longest = std::max(longest, size_of(c, x[c]));
      if (longest <= tuning.most_turn) continue;
      for (int c = 0; c < n; ++c) x[c] *= tuning.most_turn / longest;
    }
  }

  S size_of(int c, S x) const { return std::abs(x) / (problem.freedoms[c].angular ? 1.0 : problem.scale); }

  S largest_step() const {
    S longest = 0.0;
    for (int t = 0; t < d.frames; ++t) {
      for (int c = 0; c < n; ++c) longest = std::max(longest, size_of(c, d.step[at(t) * at(n) + at(c)]));
    }
    return longest;
  }

  // One step down, with more damping where the first try goes up; false where nothing leads down.
  bool take_step_of_all(S weight, S& cost, S& damping, S& gained) {
    const bool bounded = solver.settings.limits != LIMITS_OFF;
    for (int attempt = 0; attempt < tuning.most_dampings && !over(); ++attempt) {
      solve_band(weight, damping);
      shorten_steps();
      d.trial = d.q;
      for (int t = 0; t < d.frames; ++t) {
        if (!d.frozen[at(t)]) take_step(problem, q_of(d.q, t), of_frame(d.step, t), bounded, q_of(d.trial, t));
      }
      measure(d.trial.data(), d.gradient.data());
      const S there = look_at_all(d.trial.data(), d.gradient.data(), weight, false);
      if (there < cost && !d.called_off) {
        gained = cost - there;
        cost = there;
        d.q.swap(d.trial);
        d.displacement.swap(d.gradient);
        damping = damping < 1e-9 ? 0.0 : 0.1 * damping;
        return true;
      }
      damping = damping == 0.0 ? 1e-3 * (1.0 + weight * 1e-6) : 10.0 * damping;
    }
    return false;
  }

  // ---------------------------------------------------------------------------------------------- one frame by itself

  // The shortest way to where the hard goals are exact, by Newton: dq = C^T (C C^T)^-1 c over the joints that have room.
  void correct_frame(int t) {
    S* q = q_of(d.q, t);
    S* best = q_of(d.trial, t);
    S last = -1.0;
    for (int k = 0; k < tuning.corrections; ++k) {
      look_at_frame(t, q, 1.0, d.rows.data(), solver.state.errors);
      const S off = keep_hard_rows(t);
      if (last >= 0.0 && !(off < last)) {  // no nearer: back to where it was
        std::copy(best, best + solver.n_q, q);
        return;
      }
      if (off <= tuning.exact) return;
      last = off;
      std::copy(q, q + solver.n_q, best);
      assemble(problem, solver.state.placements, targets_of(t), d.J.data(), solver.state.room);
      scale_rows(t, 1.0, d.J.data(), n, m);
      step_to_hard(t, q);
    }
  }

  // rows of soft goals made zero; returns how far the hard ones are off
  S keep_hard_rows(int t) {
    S off = 0.0;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const bool counts = d.hard[at(g)] && d.weights[at(t) * solver.goals.size() + at(g)] > 0.0;
      for (int k = 0; k < rows_of_goal(goal); ++k) {
        S& row = d.rows[at(goal.first_row + k)];
        if (!counts) row = 0.0;
        off = std::max(off, std::abs(row));
      }
    }
    return off;
  }

  // One step of Newton; joints that would leave their range stay where they are, and the others are asked once more.
  void step_to_hard(int t, S* q) {
    S* x = of_frame(d.step, t);
    S* rows = d.scratch.data();
    S* r = rows + at(m) * at(n);
    std::fill_n(d.held.begin() + static_cast<std::ptrdiff_t>(at(t) * at(n)), n, char(0));
    char* held = d.held.data() + at(t) * at(n);
    for (int round = 0; round < tuning.rounds; ++round) {
      const int count = gather_hard_rows(t, held, rows, r);
      minimum_norm(count, n, rows, r, tuning.dependent, r + m, x);
      bool again = false;
      for (int c = 0; c < n; ++c) {
        x[c] = held[c] ? 0.0 : x[c] * size_in_cost(c);
        if (!leaves_range(c, q, x[c])) continue;
        held[c] = 1;
        again = true;
      }
      if (!again) break;
    }
    std::copy(q, q + solver.n_q, q_of(d.trial, t));
    take_step(problem, q_of(d.trial, t), x, solver.settings.limits != LIMITS_OFF, q);
  }

  // the length of a velocity's unit in the norm that is kept small: lengths in L, stiff joints longer
  S size_in_cost(int c) const {
    const auto& f = problem.freedoms[c];
    return std::sqrt(f.unit2 / f.weight);
  }

  int gather_hard_rows(int t, const char* held, S* rows, S* r) const {
    int count = 0;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      if (!d.hard[at(g)] || !(d.weights[at(t) * solver.goals.size() + at(g)] > 0.0)) continue;
      for (int k = 0; k < rows_of_goal(goal); ++k, ++count) {
        for (int c = 0; c < n; ++c) {
          rows[count * n + c] = held[c] ? 0.0 : d.J[at(c * m + goal.first_row + k)] * size_in_cost(c);
        }
        r[count] = d.rows[at(goal.first_row + k)];
      }
    }
    return count;
  }

  bool leaves_range(int c, const S* q, S x) const {
    const auto& f = problem.freedoms[c];
    if (x == 0.0 || f.q_index < 0 || solver.settings.limits == LIMITS_OFF) return false;
    return q[f.q_index] + x < f.lower || q[f.q_index] + x > f.upper;
  }
};

void solve_clip(ClipData& clip) { Clip(clip).run(); }

}  // namespace

extern const ClipOps clip_table;
const ClipOps clip_table = {solve_clip};

}  // namespace POISE_LEVEL
}  // namespace poise

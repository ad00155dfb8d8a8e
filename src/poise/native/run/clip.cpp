// clip.cpp: a whole clip at once, compiled once per instruction level.
//
//   minimise  sum_t |w r(q_t)|^2 + hold |d_t|^2 + smooth |d_{t-1} - 2 d_t + d_{t+1}|^2,     d_t = q_t (-) guide_t
//   with      r(q_t) = 0 for the hard goals, every joint inside its range, and every limit kept, those of speed and acceleration too
//
// Gauss-Newton over all frames: each step is one banded system (banded.h). Hard goals are rows with a weight that grows
// from step to step, and so are violated limits. At the end every frame is corrected by itself, which moves it by the
// small error that the weight has left. A joint at the end of its range that is pushed against it is excluded from a
// step; one that would cross it stops there. Velocities that do not affect any row are coupled only with themselves:
// each is a band of five numbers per frame, separate from the blocks. If rates are bounded the weight grows slowly, so
// that the set of violated rates hardly changes from one step to the next; with a large weight at once, steps would
// free some rates and violate others endlessly. One call solves at most most_systems linear systems.
#include "kernels/algebra/banded.h"
#include "run/clip/correction.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

class Clip : public FrameCorrection {
 public:
  using FrameCorrection::FrameCorrection;

  void run() {
    find_coupled();
    measure(d.q.data(), d.displacement.data());
    const S heaviest = find_heaviest();
    S weight = tuning.first_weight;
    S damping = 0.0;
    S cost = look_at_all(d.q.data(), d.displacement.data(), weight, false);
    for (d.steps = 0; d.steps < d.max_steps && !is_spent() && !over(); ++d.steps) {
      S gained = 0.0;
      const bool stepped = take_step_of_all(weight, cost, damping, gained);
      const bool last = weight >= heaviest;
      const S least_gain = d.timed                       ? tuning.least_gain_in_time
                           : has_limits_in_many_frames() ? tuning.least_gain_at_limits
                                                         : tuning.least_gain;
      // with a large weight, a descent step may need an equally large damping, which the next round uses
      if (!stepped && d.timed && damping < weight && !rests()) continue;
      if (last && (!stepped || rests() || gained < least_gain * cost)) {
        d.settled = true;
        break;
      }
      if (!last) {
        weight = std::min(weight * (d.timed ? tuning.growth_in_time : tuning.growth), heaviest);
        cost = look_at_all(d.q.data(), d.displacement.data(), weight, false);
      }
    }
    for (int t = 0; t < d.frames && !over(); ++t) {
      if (!d.frozen[at(t)]) correct_frame(t, q_of(d.q, t), q_of(d.trial, t));
    }
    measure(d.q.data(), d.displacement.data());
    d.cost = look_at_all(d.q.data(), d.displacement.data(), heaviest, true);
  }

 private:
  bool is_spent() const { return d.systems >= tuning.most_systems; }

  // the velocities that affect a row; the others are coupled only with themselves
  void find_coupled() {
    d.coupled.clear();
    for (int c = 0; c < n; ++c) {
      if (limits.n || solver.runs[at(c)].first != solver.runs[at(c)].last) d.coupled.push_back(c);
    }
  }
  int n_coupled() const { return static_cast<int>(d.coupled.size()); }

  // the last weight of hard goals and limits: more would lose a tiny cost of displacements in rounding
  S find_heaviest() const {
    S hold = 0.0;
    for (S each : d.hold) hold = std::max(hold, each);
    return d.timed ? std::max(std::min(hold, 1.0) * tuning.last_weight_in_time, tuning.last_weight)
                   : tuning.last_weight;
  }

  void measure(const S* q, S* displacement) const {
    for (int t = 0; t < d.frames; ++t) {
      const std::size_t here = at(t) * at(solver.n_q);
      difference(problem.coordinates, problem.n_coordinates, d.guide.data() + here, q + here,
                 displacement + at(t) * at(n));
    }
  }

  // the cost of all frames, and their errors if requested
  S look_at_all(const S* q, const S* displacement, S weight, bool keep) {
    S cost = 0.0;
    for (int t = 0; t < d.frames && !over(); ++t) {
      S* errors = keep ? d.errors.data() + at(t) * 2 * solver.goals.size() : solver.state.errors;
      look_at_frame(t, q + at(t) * at(solver.n_q), weight, d.rows.data(), errors);
      for (int r = 0; r < m; ++r) cost += d.rows[at(r)] * d.rows[at(r)];
      S least = open_end<S>;
      cost += look_at_limits(q + at(t) * at(solver.n_q), tuning.clear, weight, least);
      if (keep) d.gaps[at(t)] = least;
      cost += cost_between(t, displacement);
    }
    return cost + look_at_rates(q, weight);
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
    S sum = d.hold[at(c)] * x[at(t) * at(n)] - (d.timed ? d.rate_force[at(t) * at(n) + at(c)] : 0.0);
    for (int k = std::max(t - 2, 0); k <= std::min(t + 2, d.frames - 1); ++k) {
      sum += d.smooth[at(c)] * coupling(std::min(t, k), std::abs(t - k)) * x[at(k) * at(n)];
    }
    return -sum;
  }

  // whether a joint at the end of its range is pushed out of it
  bool pushed_out(int c, const S* q, S force) const {
    const auto& f = problem.freedoms[c];
    if (f.q_index < 0 || !is_bounded()) return false;
    return (q[f.q_index] <= f.lower && force < 0.0) || (q[f.q_index] >= f.upper && force > 0.0);
  }

  // J, rows and force of a frame; the velocities that are held there
  void assemble_frame(int t, S weight) {
    const S* q = q_of(d.q, t);
    look_at_frame(t, q, weight, d.rows.data(), solver.state.errors);
    assemble(problem, q, solver.state.placements, targets_of(t), d.J.data(), solver.state.room);
    scale_rows(t, weight, d.J.data(), n, m);
    find_limit_rows(q, tuning.clear, tuning.clear, weight);
    for (int c = 0; c < n; ++c) {
      S force = pull(t, c);
      for (int r = 0; r < m; ++r) force += d.J[at(c * m + r)] * d.rows[at(r)];
      for (int k = 0; k < n_near; ++k) force += d.limit_rows[at(k) * at(n) + at(c)] * d.limit_rest[at(k)];
      const bool held = d.frozen[at(t)] || pushed_out(c, q, force);
      d.held[at(t) * at(n) + at(c)] = held;
      of_frame(d.gradient, t)[c] = held ? 0.0 : force;
    }
  }

  // adds J^T J of the frame to block `which` of the front, with its diagonal and the right side
  void add_frame(const BandFront<S>& front, int which, int t, S damping) {
    const int base = which * front.block;
    const char* held = d.held.data() + at(t) * at(n);
    const int packed = pack_rows_of(t, held);
    constexpr int W = Strip<S>::width;
    const int wide = front.block;
    for (int j = 0; j < wide; j += W) {
      for (int i = j; i < wide; i += W)
        add_normal_block(packed, i, j, front.A + (base)*front.stride + base, front.stride, wide);
    }
    for (int k = 0; k < n_coupled(); ++k) {
      S* column = front.A + (base + k) * front.stride;
      column[base + k] += diagonal(t, d.coupled[at(k)], damping);
      column[front.right()] += of_frame(d.gradient, t)[d.coupled[at(k)]];
    }
  }

  // the coefficients of hold, smoothness and rates for one velocity of a frame, and for its coupling with later frames
  S diagonal(int t, int c, S damping) {
    if (d.held[at(t) * at(n) + at(c)]) return 1.0;
    const S rates = d.timed ? coupling_of(t, 0)[c] : 0.0;
    return d.hold[at(c)] + d.smooth[at(c)] * coupling(t, 0) + rates + damping;
  }

  S between(int t, int apart, int c) {
    if (d.held[at(t) * at(n) + at(c)] || d.held[at(t + apart) * at(n) + at(c)]) return 0.0;
    return d.smooth[at(c)] * coupling(t, apart) + (d.timed ? coupling_of(t, apart)[c] : 0.0);
  }

  // J^T in whole blocks, one row of J after another, without fixed velocities and without goals that are inactive in
  // this frame; returns the number of rows
  int pack_rows_of(int t, const char* held) {
    const int wide = band_block<S>(n_coupled());
    int packed = 0;
    const auto pack = [&](const S* row, int stride) {
      S* to = d.scratch.data() + at(packed++) * at(wide);
      for (int k = 0; k < wide; ++k) {
        const int c = k < n_coupled() ? d.coupled[at(k)] : -1;
        to[k] = c < 0 || held[c] ? 0.0 : row[c * stride];
      }
    };
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      if (d.weights[at(t) * solver.goals.size() + at(g)] == 0.0) continue;
      for (int k = 0; k < rows_of_goal(goal); ++k) pack(d.J.data() + goal.first_row + k, m);
    }
    for (int k = 0; k < n_near; ++k) pack(d.limit_rows.data() + at(k) * at(n), 1);
    return packed;
  }

  void add_normal_block(int packed, int i, int j, S* A, int stride, int wide) const {
    using Row = Strip<S>::Row;
    constexpr int W = Strip<S>::width;
    Row sum[W];
    for (int k = 0; k < W; ++k) sum[k] = load_rows(A + (j + k) * stride + i);
    for (int r = 0; r < packed; ++r) {
      const S* row = d.scratch.data() + at(r) * at(wide);
      const Row x = load_rows(row + i);
      for (int k = 0; k < W; ++k) sum[k] += x * Row(row[j + k]);
    }
    for (int k = 0; k < W; ++k) store_rows(A + (j + k) * stride + i, sum[k]);
  }

  void couple(const BandFront<S>& front, int t, int which, int apart) {
    if (t + apart >= d.frames) return;
    for (int k = 0; k < n_coupled(); ++k) {
      front.A[((which)*front.block + k) * front.stride + (which + apart) * front.block + k] +=
          between(t, apart, d.coupled[at(k)]);
    }
  }

  // d.step from the banded system; frames are assembled as the front reaches them
  void solve_band(S weight, S damping) {
    ++d.systems;
    if (d.timed) find_rate_rows(weight);
    const int wide = n_coupled();
    const BandFront<S> front = make_front(wide, d.frames, d.front.data());
    for (int which = 0; which < front.met; ++which) clear_frame(front, which);
    const auto enter = [&](int which, int t) {
      if (t >= d.frames) {
        for (int k = which * front.block; k < which * front.block + wide; ++k) front.A[k * front.stride + k] = 1.0;
        return;
      }
      assemble_frame(t, weight);
      add_frame(front, which, t, damping);
      for (int apart = 1; apart <= 2; ++apart) {
        if (t - apart >= 0 && which - apart >= 0) couple(front, t - apart, which - apart, apart);
      }
    };
    for (int which = 0; which < front.met; ++which) enter(which, which);
    const std::size_t kept = static_cast<std::size_t>(size_of_band_frame<S>(wide));
    for (int t = 0; t < d.frames && !over(); ++t) {
      eliminate_frame(front, tuning.least_pivot, d.factors.data() + at(t) * kept);
      shift_front(front);
      enter(front.met - 1, t + front.met);
    }
    for (int t = d.frames - 1; t >= 0; --t) {
      S* x = d.coupled_step.data() + at(t) * at(wide);
      const S* next = t + 1 < d.frames ? x + wide : nullptr;
      const S* after = t + 2 < d.frames ? x + 2 * wide : nullptr;
      substitute_frame(front, d.factors.data() + at(t) * kept, next, after, x);
      for (int k = 0; k < wide; ++k) of_frame(d.step, t)[d.coupled[at(k)]] = x[k];
    }
    for (int c = 0, k = 0; c < n; ++c) {
      if (k < wide && d.coupled[at(k)] == c) {
        ++k;
      } else {
        solve_alone(c, damping);
      }
    }
  }

  // d.step of a velocity that does not affect any row, over all frames: L D L^T of a matrix with two diagonals on
  // either side
  void solve_alone(int c, S damping) {
    S *D = d.alone.data(), *first = D + d.frames, *second = first + d.frames;
    const auto x = [&](int t) -> S& { return of_frame(d.step, t)[c]; };
    for (int t = 0; t < d.frames; ++t) {
      second[t] = t > 1 ? between(t - 2, 2, c) / D[t - 2] : 0.0;
      first[t] = t > 0 ? (between(t - 1, 1, c) - (t > 1 ? first[t - 1] * D[t - 2] * second[t] : 0.0)) / D[t - 1] : 0.0;
      D[t] = diagonal(t, c, damping);
      x(t) = of_frame(d.gradient, t)[c];
      if (t > 0) D[t] -= first[t] * first[t] * D[t - 1], x(t) -= first[t] * x(t - 1);
      if (t > 1) D[t] -= second[t] * second[t] * D[t - 2], x(t) -= second[t] * x(t - 2);
      D[t] = std::max(D[t], tuning.least_pivot);
    }
    for (int t = d.frames - 1; t >= 0; --t) {
      x(t) /= D[t];
      if (t + 1 < d.frames) x(t) -= first[t + 1] * x(t + 1);
      if (t + 2 < d.frames) x(t) -= second[t + 2] * x(t + 2);
    }
  }

  // shortens steps of a frame that are too long; such a frame deviates and converges again in the next steps
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

  // whether the last step is so short that the clip has converged
  bool rests() const {
    return largest_step() < (has_limits_in_many_frames() && !d.timed ? tuning.rest_at_limits : d.rest);
  }

  // whether limits of several frames hinder each other; the single frame of a stream converges by itself
  bool has_limits_in_many_frames() const { return limits.n && d.frames > 1; }

  S largest_step() const {
    S longest = 0.0;
    for (int t = 0; t < d.frames; ++t) {
      for (int c = 0; c < n; ++c) longest = std::max(longest, size_of(c, d.step[at(t) * at(n) + at(c)]));
    }
    return longest;
  }

  // One descent step: shorter if the first attempt increases the cost, then with more damping; false if none decreases
  // it.
  bool take_step_of_all(S weight, S& cost, S& damping, S& gained) {
    const Tries& tries = d.timed || limits.n ? many_tries : few_tries;
    for (int attempt = 0; attempt < tries.dampings && !is_spent() && !over(); ++attempt) {
      solve_band(weight, damping);
      shorten_steps();
      S share = 1.0;
      for (int k = 0; k < tries.shares && !over(); ++k, share *= tries.shorter) {
        const S there = try_step(weight, share);
        if (!(there < cost) || d.called_off) continue;
        gained = cost - there;
        cost = there;
        d.q.swap(d.trial);
        d.displacement.swap(d.gradient);
        damping = damping < 1e-9 ? 0.0 : 0.1 * damping;
        return true;
      }
      if (rests()) break;
      damping = damping == 0.0 ? 1e-3 * (1.0 + weight * 1e-6) : tries.more * damping;
    }
    return false;
  }

  // the cost after a share of d.step; d.trial gets the frames, d.gradient their displacements
  S try_step(S weight, S share) {
    d.trial = d.q;
    for (int t = 0; t < d.frames; ++t) {
      if (d.frozen[at(t)]) continue;
      S* part = d.pace.data();
      for (int c = 0; c < n; ++c) part[c] = share * of_frame(d.step, t)[c];
      take_step(problem, q_of(d.q, t), part, is_bounded(), q_of(d.trial, t));
    }
    measure(d.trial.data(), d.gradient.data());
    return look_at_all(d.trial.data(), d.gradient.data(), weight, false);
  }
};

void solve_clip(ClipData& clip) { Clip(clip).run(); }

}  // namespace

extern const ClipOps clip_table;
const ClipOps clip_table = {solve_clip};

}  // namespace POISE_LEVEL
}  // namespace poise

// clip.cpp: a whole clip at once, compiled once per instruction level.
//
//   minimise  sum_t |w r(q_t)|^2 + hold |d_t|^2 + smooth |d_{t-1} - 2 d_t + d_{t+1}|^2,     d_t = q_t (-) guide_t
//   with      r(q_t) = 0 for the hard goals, every joint inside its range, and every limit kept, those of speed and acceleration too
//
// Gauss-Newton over all frames: each step is one banded system (banded.h). Hard goals are rows with a weight that grows
// from step to step, and so are violated limits. At the end every frame is corrected by itself, which moves it by the
// small error that the weight has left. A joint at the end of its range that is pushed against it is excluded from a
// step; one that would cross it stops there. Velocities that do not affect any row are coupled only with themselves:
// each is a band of five numbers per frame, separate from the blocks. Frames without smoothness and rates are not
// coupled, and each is solved by itself. If rates are bounded the weight grows slowly, so that the set of violated rates
// hardly changes from one step to the next; with a large weight at once, steps would free some rates and violate others
// endlessly. Coupled frames take at most most_systems linear systems, and so does each frame that is solved by itself.
#include "run/clip/packed_rows.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

class Clip : public PackedRows {
 public:
  using PackedRows::PackedRows;

  void run() {
    find_coupled();
    const bool together = couples_frames();
    for (last = 0; last < d.frames && !over();) {
      first = last;
      last = together ? d.frames : first + 1;
      solve_frames();
      most_systems = std::max(most_systems, d.systems);
    }
    first = 0;
    last = d.frames;
    d.systems = most_systems;
    measure(d.q.data(), d.displacement.data());
    d.cost = look_at_all(d.q.data(), d.displacement.data(), find_heaviest(), false, true);
  }

 private:
  int first = 0, last = 0;  // the frames that are solved at once: all of them, or one if none is coupled with another
  int most_systems = 0;
  bool placed = false;  // whether the placements are those of d.q

  void solve_frames() {
    measure(d.q.data(), d.displacement.data());
    const S heaviest = find_heaviest();
    const bool weighted = has_weights();
    S weight = weighted ? std::min(d.first_weight, heaviest) : heaviest;
    S damping = 0.0;
    placed = false;
    S cost = look_at_all(d.q.data(), d.displacement.data(), weight, false);
    placed = true;
    d.systems = 0;
    for (int step = 0; step < d.max_steps && !is_spent() && !over(); ++step) {
      S gained = 0.0;
      const bool stepped = take_step_of_all(weight, cost, damping, gained);
      const bool grown = weight >= heaviest;
      const S least_gain = d.timed                       ? tuning.least_gain_in_time
                           : has_limits_in_many_frames() ? tuning.least_gain_at_limits
                                                         : tuning.least_gain;
      // with a large weight, a descent step may need an equally large damping, which the next round uses
      if (!stepped && d.timed && damping < weight && !rests()) continue;
      if (grown && (!stepped || rests() || gained < least_gain * cost)) break;
      if (!grown) {
        weight = std::min(weight * (d.timed ? tuning.growth_in_time : tuning.growth), heaviest);
        cost = look_at_all(d.q.data(), d.displacement.data(), weight, placed);
        placed = true;
      }
    }
    for (int t = first; t < last; ++t) d.lengths[at(t)] = length_of_step(t);
    for (int t = first; t < last && weighted && !over(); ++t) {
      if (!d.frozen[at(t)]) correct_frame(t, q_of(d.q, t), q_of(d.trial, t));
    }
  }

  // whether hard goals or limits have a weight that grows
  bool has_weights() const {
    return limits.n || d.timed || std::any_of(d.hard.begin(), d.hard.end(), [](char hard) { return hard != 0; });
  }

  bool is_spent() const { return d.systems >= tuning.most_systems; }

  // the last weight of hard goals and limits: more would lose a tiny cost of displacements in rounding
  S find_heaviest() const {
    S hold = 0.0;
    for (S each : d.hold) hold = std::max(hold, each);
    return d.timed ? std::max(std::min(hold, 1.0) * tuning.last_weight_in_time, d.last_weight) : d.last_weight;
  }

  void measure(const S* q, S* displacement) const {
    for (int t = first; t < last; ++t) {
      const std::size_t here = at(t) * at(solver.n_q);
      difference(problem.coordinates, problem.n_coordinates, d.guide.data() + here, q + here,
                 displacement + at(t) * at(n));
    }
  }

  // the cost of all frames, and their errors if requested; `again`: the last look was at the same q
  S look_at_all(const S* q, const S* displacement, S weight, bool again, bool keep = false) {
    S cost = 0.0;
    for (int t = first; t < last && !over(); ++t) {
      S* errors = keep ? d.errors.data() + at(t) * 2 * solver.goals.size() : solver.state.errors;
      look_at_frame(t, q + at(t) * at(solver.n_q), weight, d.rows.data(), errors, again, keep);
      for (int r = 0; r < m; ++r) cost += d.rows[at(r)] * d.rows[at(r)];
      S least = open_end<S>;
      cost += look_at_limits(t, q + at(t) * at(solver.n_q), tuning.clear, weight, least);
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
    const int end = d.frames - 1;
    if (end < 2 || t + apart > end) return 0.0;
    if (apart == 2) return 1.0;
    const auto inside = [&](int k) { return k >= 1 && k < end ? 1.0 : 0.0; };  // a second difference about frame k
    if (apart == 1) return -2.0 * (inside(t) + inside(t + 1));
    return inside(t - 1) + 4.0 * inside(t) + inside(t + 1);
  }

  // minus half the gradient of hold, smooth and rates, at all velocities of one frame
  void pull(int t, S* force) {
    const S* x = of_frame(d.displacement, t);
    for (int c = 0; c < n; ++c) force[c] = -d.hold[at(c)] * x[c];
    for (int k = std::max(t - 2, 0); k <= std::min(t + 2, d.frames - 1); ++k) {
      const S factor = coupling(std::min(t, k), std::abs(t - k));
      const S* other = of_frame(d.displacement, k);
      for (int c = 0; c < n; ++c) force[c] -= d.smooth[at(c)] * factor * other[c];
    }
    for (int c = 0; c < n && d.timed; ++c) force[c] += force_of(t)[c];
  }

  // whether a joint at the end of its range is pushed out of it
  bool pushed_out(int c, const S* q, S force) const {
    const auto& f = problem.freedoms[c];
    if (f.q_index < 0 || !is_bounded()) return false;
    return (q[f.q_index] <= f.lower && force < 0.0) || (q[f.q_index] >= f.upper && force > 0.0);
  }

  // The packed rows and the force of a frame, and the velocities that are held there; returns the number of rows.
  int assemble_frame(int t, S weight) {
    const S* q = q_of(d.q, t);
    look_at_frame(t, q, weight, d.rows.data(), solver.state.errors, placed);
    find_limit_rows(t, q, tuning.clear, tuning.clear, weight);
    S *force = of_frame(d.gradient, t), *packed_force = d.packed_force.data();
    const int wide = band_block<S>(n_coupled()), packed = pack_rows_of(t, q, weight);
    std::fill_n(packed_force, wide, 0.0);
    for (int r = 0; r < packed; ++r) {
      const S* row = d.scratch.data() + at(r) * at(wide);
      for (int k = 0; k < wide; ++k) packed_force[k] += row[k] * d.packed_rest[at(r)];
    }
    pull(t, force);
    for (int k = 0; k < n_coupled(); ++k) force[d.coupled[at(k)]] += packed_force[k];
    char* held = d.held.data() + at(t) * at(n);
    for (int c = 0; c < n; ++c) {
      held[c] = d.frozen[at(t)] || pushed_out(c, q, force[c]);
      if (held[c]) force[c] = 0.0;
    }
    for (int k = 0; k < n_coupled(); ++k) {
      if (!held[d.coupled[at(k)]]) continue;
      for (int r = 0; r < packed; ++r) d.scratch[at(r) * at(wide) + at(k)] = 0.0;
    }
    return packed;
  }

  // adds J^T J of the frame to its columns of the front, with its diagonal and the right side
  void add_frame(const BandFront<S>& front, int t, int packed, S damping) {
    constexpr int W = Strip<S>::width;
    const int wide = front.block;
    const S* rows = d.scratch.data();
    S* A = front.columns_of(t);
    for (int j = 0; j < wide; j += W) {
      const int limit_rows = packed - n_near;
      Run run{limit_rows, 0};  // the rows of goals that these velocities affect
      for (int k = j; k < std::min(j + W, n_coupled()); ++k) {
        const Run each = solver.runs[at(d.coupled[at(k)])];
        run.first = std::min(run.first, d.packed_before[at(std::min(each.first, m))]);
        run.last = std::max(run.last, d.packed_before[at(std::min(each.last, m))]);
      }
      S* C = A + j * front.stride + j;
      add_panel<1, S>({rows + j, rows + j, run.first, run.last, wide}, wide - j, false, C, front.stride);
      add_panel<1, S>({rows + j, rows + j, limit_rows, packed, wide}, wide - j, false, C, front.stride);
    }
    const S smooth = coupling(t, 0);
    for (int k = 0; k < n_coupled(); ++k) {
      S* column = A + k * front.stride;
      column[k] += diagonal(t, d.coupled[at(k)], smooth, damping);
      column[front.right()] += of_frame(d.gradient, t)[d.coupled[at(k)]];
    }
  }

  // the coefficients of hold, smoothness and rates for one velocity of a frame, and for its coupling with later frames;
  // `smooth` is the factor of these frames
  S diagonal(int t, int c, S smooth, S damping) {
    if (d.held[at(t) * at(n) + at(c)]) return 1.0;
    const S rates = d.timed ? coupling_of(t, 0)[c] : 0.0;
    return d.hold[at(c)] + d.smooth[at(c)] * smooth + rates + damping + d.damping[at(t)] / problem.freedoms[c].unit2;
  }

  S between(int t, int apart, int c, S smooth) {
    if (d.held[at(t) * at(n) + at(c)] || d.held[at(t + apart) * at(n) + at(c)]) return 0.0;
    return d.smooth[at(c)] * smooth + (d.timed ? coupling_of(t, apart)[c] : 0.0);
  }

  void couple(const BandFront<S>& front, int t, int apart) {
    const S smooth = coupling(t, apart);
    S* A = front.columns_of(t);
    for (int k = 0; k < n_coupled(); ++k) {
      A[k * front.stride + apart * front.block + k] += between(t, apart, d.coupled[at(k)], smooth);
    }
  }

  // whether smoothness or rates couple frames; a smoothness below `negligible` of the hold cost is lost in rounding
  bool couples_frames() const {
    bool any = d.timed;
    for (int c = 0; c < n; ++c) any = any || d.smooth[at(c)] > tuning.negligible * d.hold[at(c)];
    return any;
  }

  // d.step from the banded system; frames are assembled as the front reaches them
  void solve_band(S weight, S damping) {
    ++d.systems;
    if (d.timed) find_rate_rows(weight);
    const int wide = n_coupled();
    const BandFront<S> front = make_front(wide, last - first, d.front.data());
    const auto enter = [&](int t) {
      if (t >= last) return;
      clear_frame(front, t);
      add_frame(front, t, assemble_frame(t, weight), damping);
      for (int apart = 1; apart < front.met && apart <= t - first; ++apart) couple(front, t - apart, apart);
    };
    for (int t = first; t < first + front.met; ++t) enter(t);
    const std::size_t kept = static_cast<std::size_t>(size_of_band_frame<S>(wide));
    for (int t = first; t < last && !over(); ++t) {
      eliminate_frame(front, t, tuning.least_pivot, d.factors.data() + at(t) * kept);
      enter(t + front.met);
    }
    for (int t = last - 1; t >= first; --t) {
      S* x = d.coupled_step.data() + at(t) * at(front.block);  // zero beyond the last frame
      std::copy_n(x + 2 * front.block, front.block, x);
      substitute_frame(front, d.factors.data() + at(t) * kept, x + front.block, x);
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
    S *D = d.alone.data(), *near = D + d.frames, *far = near + d.frames;
    const auto x = [&](int t) -> S& { return of_frame(d.step, t)[c]; };
    for (int t = first; t < last; ++t) {
      const bool second = t > first, third = t > first + 1;
      far[t] = third ? between(t - 2, 2, c, coupling(t - 2, 2)) / D[t - 2] : 0.0;
      near[t] = second ? between(t - 1, 1, c, coupling(t - 1, 1)) / D[t - 1] : 0.0;
      if (third) near[t] -= near[t - 1] * D[t - 2] * far[t] / D[t - 1];
      D[t] = diagonal(t, c, coupling(t, 0), damping);
      x(t) = of_frame(d.gradient, t)[c];
      if (second) D[t] -= near[t] * near[t] * D[t - 1], x(t) -= near[t] * x(t - 1);
      if (third) D[t] -= far[t] * far[t] * D[t - 2], x(t) -= far[t] * x(t - 2);
      D[t] = std::max(D[t], tuning.least_pivot);
    }
    for (int t = last - 1; t >= first; --t) {
      x(t) /= D[t];
      if (t + 1 < last) x(t) -= near[t + 1] * x(t + 1);
      if (t + 2 < last) x(t) -= far[t + 2] * x(t + 2);
    }
  }

  // shortens steps of a frame that are too long; such a frame deviates and converges again in the next steps
  void shorten_steps() {
    for (int t = first; t < last; ++t) {
      S* x = of_frame(d.step, t);
      const S longest = length_of_step(t);
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
  bool has_limits_in_many_frames() const { return limits.n && last - first > 1; }

  S largest_step() const {
    S longest = 0.0;
    for (int t = first; t < last; ++t) longest = std::max(longest, length_of_step(t));
    return longest;
  }

  S length_of_step(int t) const {
    S longest = 0.0;
    for (int c = 0; c < n; ++c) longest = std::max(longest, size_of(c, d.step[at(t) * at(n) + at(c)]));
    return longest;
  }

  // One descent step: shorter if the first attempt increases the cost, then with more damping; false if none decreases
  // it.
  bool take_step_of_all(S weight, S& cost, S& damping, S& gained) {
    const Tries& tries = d.timed || limits.n ? many_tries : few_tries;
    for (int attempt = 0; attempt < tries.dampings && !is_spent() && !over(); ++attempt) {
      solve_band(weight, damping);
      placed = false;
      shorten_steps();
      S share = 1.0;
      for (int k = 0; k < tries.shares && !over(); ++k, share *= tries.shorter) {
        const S there = try_step(weight, share);
        if (!(there < cost) || d.called_off) continue;
        gained = cost - there;
        cost = there;
        placed = true;
        copy_frames(d.trial, d.q, solver.n_q);
        copy_frames(d.gradient, d.displacement, n);
        damping = damping < 1e-9 ? 0.0 : 0.1 * damping;
        return true;
      }
      if (rests()) break;
      damping = damping == 0.0 ? 1e-3 * (1.0 + weight * 1e-6) : tries.more * damping;
    }
    return false;
  }

  void copy_frames(const std::vector<S>& from, std::vector<S>& to, int size) const {
    std::copy(from.data() + at(first) * at(size), from.data() + at(last) * at(size), to.data() + at(first) * at(size));
  }

  // the cost after a share of d.step; d.trial gets the frames, d.gradient their displacements
  S try_step(S weight, S share) {
    copy_frames(d.q, d.trial, solver.n_q);
    for (int t = first; t < last; ++t) {
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

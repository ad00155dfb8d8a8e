// gpu_decide.h: closed forms in a GPU's passes: rows that searches have missed are proved out of reach, or reached, in double.
//
// A problem type P says how many of its goals have a closed form (`P::n_closed`) and gives them (`P::closed(i)`).
#pragma once
#include "kernels/closed/form.h"
#include "kernels/loop/gpu_entry.h"

namespace poise {

// what form number i is asked for
template <class P, class T> POISE_FN FamilyTarget<T> asked_on_device(const P& problem, int i, const T* targets) {
  const auto& goal = problem.goals[P::closed(i).goal];
  const T origin[3] = {T(problem.origin(0)), T(problem.origin(1)), T(problem.origin(2))};
  return target_of<T>(targets + goal.target, origin, goal.tolerance);
}

// Whether the row is hardly worth more searches: in float this is no proof, but says who shall be asked for one.
struct SeemsHopeless {
  template <class P, class T> POISE_FN bool operator()(const P& problem, const T* targets) const {
    bool hopeless = false;
    if constexpr (P::n_closed > 0) {
      for (int i = 0; i < P::n_closed; ++i) {
        hopeless = hopeless || never_so_far(P::closed(i).spec, asked_on_device(problem, i, targets));
      }
    }
    return hopeless;
  }
};

// the joints of a form as a pose of the row, inside the ranges also when rounded
template <class T, class Io>
POISE_FN void store_joints(const ClosedForm<double>& form, const Io& io, int row, int width, const double* values) {
  for (int k = 0; k < form.joints; ++k) {
    const FamilyAxis<double>& axis = axis_of(form.spec, k);
    const double a = (axis.middle - axis.half - form.bias[k]) / form.gain[k];
    const double b = (axis.middle + axis.half - form.bias[k]) / form.gain[k];
    const Idle range{form.q_index[k], minimum(a, b), maximum(a, b)};
    const double q = (inside_of(axis, values[k]) - form.bias[k]) / form.gain[k];
    io.q[static_cast<long long>(row) * width + form.q_index[k]] = kept_inside<T>(q, range);
  }
}

// A team on a row that searches have missed, all threads together: PROVED, some goal cannot be reached within its tolerances; FOUND, the only
// goal is reached, the pose is stored; OPEN, nothing is said.
template <class P, class T, class Team>
POISE_FN Verdict decide_row_together(const P& problem, const DeviceRows<T, P::n_goals>& io, int row, Team team) {
  double targets[12 * P::n_goals];
  load_targets(problem, io, row, targets);
  Verdict all = Verdict::OPEN;
  if constexpr (P::n_closed > 0) {
    for (int i = 0; i < P::n_closed && all == Verdict::OPEN; ++i) {
      double values[7] = {};
      int owner = -1;
      const Verdict verdict =
          decide_together(P::closed(i).spec, asked_on_device(problem, i, targets), team, values, owner);
      if (verdict == Verdict::PROVED) all = verdict;
      if (verdict == Verdict::FOUND && P::n_goals == 1) {
        all = verdict;
        if (team.rank() == owner) store_joints<T>(P::closed(i), io, row, P::model_q, values);
      }
    }
  }
  if (team.rank() == 0 && all != Verdict::OPEN)
    io.codes[row] = all == Verdict::PROVED ? CODE_UNREACHABLE : CODE_REACHED;
  return all;
}

// whether a row is still to be decided
POISE_FN bool is_missed(signed char code) { return code == CODE_STALLED || code == CODE_OUT_OF_STEPS; }

}  // namespace poise

// gpu_decide.h: closed forms on a GPU: rows that searches have missed are proved unreachable, or solved, in double.
//
// A problem type P has the number of its goals with a closed form (`P::n_closed`) and the forms (`P::closed(i)`).
#pragma once
#include "kernels/closed/cells.h"
#include "kernels/closed/form.h"
#include "kernels/loop/gpu_entry.h"

namespace poise {

// the query of form number i
template <class P, class T> POISE_FN FamilyTarget<T> asked_on_device(const P& problem, int i, const T* targets) {
  const auto& goal = problem.goals[P::closed(i).goal];
  const T origin[3] = {T(problem.origin(0)), T(problem.origin(1)), T(problem.origin(2))};
  return target_of<T>(targets + goal.target, origin, goal.tolerance);
}

// the joints of a form as a pose of the row, inside the ranges also after rounding
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

// Rows that searches have missed, in the interface of closed/cells.h. next() provides them, -1 at the end; leave(row)
// takes undecided ones.
template <class P, class T, class Next, class Leave> struct MissedRows {
  const P& problem;
  const DeviceRows<T, P::n_goals>& io;
  Next next;
  Leave leave;

  POISE_FN int forms() const { return P::n_closed; }
  // With one form its index is a constant, so the compiler keeps only its own plan, with its axes folded in.
  POISE_FN static int number_of(int form) { return P::n_closed == 1 ? 0 : form; }
  POISE_FN static const ClosedForm<double>& form_of(int form) { return P::closed(number_of(form)); }
  POISE_FN double metres(int form) const { return problem.goals[form_of(form).goal].tolerance[0]; }
  POISE_FN double radians(int form) const { return problem.goals[form_of(form).goal].tolerance[1]; }

  POISE_FN FamilyQuestion<double> question(int row, int form) const {
    double targets[P::n_targets];
    load_targets(problem, io, row, targets);
    return question_of(form_of(form).spec, asked_on_device(problem, number_of(form), targets));
  }
  // the free joint in the final pose of the searches
  POISE_FN double near(int row, int form) const {
    const ClosedForm<double>& closed = form_of(form);
    const int k = closed.spec.free_joint == FREE_FIRST ? 0 : closed.joints - 1;
    const double q = double(io.q[static_cast<long long>(row) * P::model_q + closed.q_index[k]]);
    return inside_of(axis_of(closed.spec, k), closed.gain[k] * q + closed.bias[k]);
  }
  POISE_FN void store(int row, int form, const double* values) const {
    if (P::n_goals == 1) store_joints<T>(form_of(form), io, row, P::model_q, values);
  }
  // a pose of one goal decides nothing if there are others
  POISE_FN Verdict judge(Verdict verdict) const {
    return verdict == Verdict::FOUND && P::n_goals > 1 ? Verdict::OPEN : verdict;
  }
  POISE_FN void end(int row, Verdict verdict) const {
    if (verdict == Verdict::OPEN) {
      leave(row);
    } else {
      io.codes[row] = verdict == Verdict::PROVED ? ROW_UNREACHABLE : ROW_REACHED;
    }
  }
};

// The number of rows of a team: few rows are shared by all teams.
POISE_FN int places_for(int rows, int teams) {
  const int share = (rows + teams - 1) / teams;
  return share < cell_rows ? share : cell_rows;
}

// A team decides rows until `next` provides no more, `places` at a time, all threads together.
template <class P, class T, class Team, class Next, class Leave>
POISE_FN void decide_rows_together(const P& problem, const DeviceRows<T, P::n_goals>& io, CellMemory<double>& memory,
                                   Team team, int places, Next next, Leave leave) {
  if constexpr (P::n_closed > 0) {
    const MissedRows<P, T, Next, Leave> rows{problem, io, next, leave};
    decide_cells(memory, team, rows, places);
  }
}

// whether a row is still to be decided
POISE_FN bool is_missed(signed char code) { return code == ROW_STALLED || code == ROW_OUT_OF_STEPS; }

}  // namespace poise

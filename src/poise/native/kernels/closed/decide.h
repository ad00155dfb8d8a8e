// decide.h: decides whether a chain of a family has a pose within the tolerances of a transform: a proof that it has
// none, or a start for a search.
//
// The range of a free joint is divided into cells. In a cell the free joint is known within half the cell, which is one
// more error of the transform of the other six. A cell in which every branch is excluded has no pose; any other cell is
// divided. If no cell is left, none exists. Cells as narrow as the tolerances come first: in a sixteenth of such a
// cell the tolerances matter more than its width, and if it is open nothing will be proved. Here one thread processes cell
// after cell; cells.h has the same for a team of threads.
#pragma once
#include "kernels/closed/question.h"

namespace poise {

enum class Verdict : int { PROVED, FOUND, OPEN };

// Finds a branch that is not excluded while the free joint is within `half` of `at`; its joints in `out`.
template <class T>
POISE_LARGE_FN bool find_left(const FamilyQuestion<T>& question, T at, T half, int cuts, bool exact, T* out) {
  const FamilyAsked<T> asked = ask_of(question, at, half * T(1 + 1e-9), exact);
  return walk_branches(question.spec.chain, asked, cuts, all_branches, [&](const FamilyLeaf<T>& leaf) {
    joints_of(question.spec, leaf, at, out);
    return true;
  });
}

// The number of pieces for an uncertain answer: more if the cell is not divided further.
constexpr int few_cuts = 2, many_cuts = 4;
template <class T> POISE_FN int cuts_of(T half, bool last) { return last ? many_cuts : half < T(0.3) ? few_cuts : 1; }

// Whether the joints from find_left are inside their ranges. Otherwise testing the midpoint of a wide cell is hardly
// worthwhile.
template <class T> POISE_FN bool has_inside(const FamilySpec<T>& spec, const T* values) {
  const int shift = spec.free_joint == FREE_FIRST;
  bool inside = true;
  for (int j = 0; j < 6; ++j) {
    const FamilyAxis<T>& axis = spec.chain.axes[spec.backwards ? 5 - j : j];
    inside = inside && absolute(turns_off(axis, values[shift + j])) <= axis.half;
  }
  return inside;
}

// The verdict on a cell: PROVED, it has no pose; FOUND, `out` has the joints of one at its midpoint; otherwise OPEN.
template <class T>
POISE_LARGE_FN Verdict look_at_cell(const FamilyQuestion<T>& question, T at, T half, T finest, T* out) {
  const bool last = half <= finest;
  if (!find_left(question, at, half, cuts_of(half, last), false, out)) return Verdict::PROVED;
  const bool worth = last || has_inside(question.spec, out);
  return worth && find_left(question, at, T(0), 1, true, out) ? Verdict::FOUND : Verdict::OPEN;
}

// the number of first cells for a scan: about `most`, or of that width
template <class T>
POISE_FN int first_cells(const FamilySpec<T>& spec, const FamilyScan<T>& scan, int most = 16, double width = 0.36) {
  const T wanted = spec.free.slides ? T(most) : scan.total / T(width);
  return wanted < T(most) ? static_cast<int>(wanted) : most;
}

// PROVED: no pose inside the ranges is within the tolerances. FOUND: `out` has the joints of one that is inside, exact
// except for rounding and the chain's own error. OPEN: neither; `out` has joints that come close. `cells` counts the
// cells.
template <class T> POISE_LARGE_FN Verdict decide(const FamilySpec<T>& spec, const FamilyTarget<T>& target,
                                                 int most_cells, T* out, int& cells) {
  constexpr int ring = 512;  // remaining cells
  const FamilyQuestion<T> question = question_of(spec, target);
  cells = 1;
  if (spec.free_joint == FREE_NONE) return look_at_cell(question, T(0), T(0), T(0), out);
  const FamilyScan<T> scan = scan_of(question);
  const T finest = spec.free.slides ? target.metres : target.radians;
  const int wanted = first_cells(spec, scan);
  T at[ring], width[ring];
  int next = 0, count = 0;
  // ends: there are at most `wanted` cells and one more for each interval
  while (count < 32 && cell_of(scan, wanted, count, at[count], width[count])) ++count;
  for (cells = 0; count > 0 && cells < most_cells; ++cells) {
    const T u = at[next], w = width[next];
    const bool narrow = w <= finest, last = w <= T(0.0625) * finest || count + 1 > ring;
    const Verdict verdict = look_at_cell(question, u, w, narrow || last ? w : T(-1), out);
    if (verdict == Verdict::FOUND || (last && verdict == Verdict::OPEN)) return verdict;
    next = (next + 1) % ring;
    --count;
    for (int side = 0; side < 2 && verdict == Verdict::OPEN; ++side) {
      if (narrow) next = (next + ring - 1) % ring;
      const int to = narrow ? next : (next + count) % ring;
      at[to] = u + T(side ? 0.5 : -0.5) * w;
      width[to] = T(0.5) * w;
      ++count;
    }
  }
  return count == 0 ? Verdict::PROVED : Verdict::OPEN;
}

}  // namespace poise

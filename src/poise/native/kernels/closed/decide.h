// decide.h: whether a chain of a family has a pose within the tolerances of a transform: proved not, or where to look.
//
// Where a joint is free its range is cut into cells. For a whole cell the free joint is known within half the cell, which is one more
// error of what the other six are asked for; a cell in which every branch is ruled out holds no pose, a cell that is left is cut.
// When none is left there is no pose anywhere. One thread looks at cell after cell, a team of threads at a cell each.
#pragma once
#include "kernels/closed/question.h"

namespace poise {

enum class Verdict : int { PROVED, FOUND, OPEN };

// some branch that is not ruled out while the free joint is within `half` of `at`; its joints in `out`
template <class T>
POISE_LARGE_FN bool find_leaf(const FamilyQuestion<T>& question, T at, T half, int cuts, bool exact, T* out) {
  const FamilyAsked<T> asked = ask_of(question, at, half, exact);
  return walk_branches(question.spec.chain, asked, cuts, all_branches, [&](const FamilyLeaf<T>& leaf) {
    joints_of(question.spec, leaf, at, out);
    return true;
  });
}

constexpr int few_cuts = 4, many_cuts = 16;  // pieces into which an answer that is hardly known is cut

// What is known of a cell: PROVED, no pose is in it; FOUND, `out` has the joints of one in its middle; else OPEN.
template <class T>
POISE_LARGE_FN Verdict look_at_cell(const FamilyQuestion<T>& question, T at, T half, T finest, T* out) {
  Verdict verdict = Verdict::OPEN;
  // with what is tolerated; exactly; and in a cell that is not cut any more, with more pieces
  POISE_ROLLED
  for (int way = 0; way < 3; ++way) {
    const bool exact = way == 1;
    if (way == 2 && half > finest) continue;
    const int cuts = exact ? 1 : way == 2 ? many_cuts : half < T(0.1) ? few_cuts : 1;
    const bool left = find_leaf(question, at, exact ? T(0) : half * T(1 + 1e-9), cuts, exact, out);
    if (left == exact) {
      verdict = exact ? Verdict::FOUND : Verdict::PROVED;
      break;
    }
  }
  return verdict;
}

// PROVED: no pose inside the ranges is within the tolerances. FOUND: `out` has the joints of one that is inside and exact but for
// rounding and the chain's own error. OPEN: neither; `out` has joints that come close. `cells` counts what was looked at.
template <class T> POISE_LARGE_FN Verdict decide(const FamilySpec<T>& spec, const FamilyTarget<T>& target,
                                                 int most_cells, T* out, int& cells) {
  constexpr int ring = 512;  // cells that wait, the widest first
  constexpr double first_width = 0.36;
  const FamilyQuestion<T> question = question_of(spec, target);
  cells = 1;
  if (spec.free_joint == FREE_NONE) return look_at_cell(question, T(0), T(0), T(0), out);
  const FamilyScan<T> scan = scan_of(question);
  const T finest = spec.free.slides ? target.metres : target.radians;
  const T wanted = spec.free.slides ? T(16) : scan.total / T(first_width);
  T at[ring], width[ring];
  int next = 0, count = 0;
  // ends: there are at most `wanted` cells and one more for each interval
  while (count < 32 && cell_of(scan, wanted < T(16) ? static_cast<int>(wanted) : 16, count, at[count], width[count]))
    ++count;
  for (cells = 0; count > 0 && cells < most_cells; ++cells) {
    const T u = at[next], w = width[next];
    next = (next + 1) % ring;
    --count;
    const bool last = w <= finest || count + 2 > ring;
    const Verdict verdict = look_at_cell(question, u, w, last ? w : T(-1), out);
    if (verdict == Verdict::FOUND || (last && verdict == Verdict::OPEN)) return verdict;
    for (int side = 0; side < 2 && verdict == Verdict::OPEN; ++side) {
      const int to = (next + count++) % ring;
      at[to] = u + T(side ? 0.5 : -0.5) * w;
      width[to] = T(0.5) * w;
    }
  }
  return count == 0 ? Verdict::PROVED : Verdict::OPEN;
}

POISE_FN int count_bits(unsigned x) {
  int out = 0;
  for (int i = 0; i < 32; ++i) out += static_cast<int>(x >> i & 1u);
  return out;
}

// where the bit number k of those that are set is; -1: there are fewer
POISE_FN int place_of_bit(unsigned x, int k) {
  int out = -1;
  for (int i = 0; i < 32; ++i) {
    const bool set = (x >> i & 1u) != 0u;
    out = set && k == 0 ? i : out;
    k -= set;
  }
  return out;
}

// The same by a team: a thread a cell. Cells that are left are cut into as many pieces as there are threads for them. All threads of the
// team call it together, and are told the same verdict; who has the joints is told by `owner`.
template <class T, class Team> POISE_FN Verdict decide_together(const FamilySpec<T>& spec,
                                                                const FamilyTarget<T>& target, Team team, T* out,
                                                                int& owner) {
  constexpr int most_rounds = 12;
  const FamilyQuestion<T> question = question_of(spec, target);
  const bool single = spec.free_joint == FREE_NONE;
  const T finest = single ? T(0) : spec.free.slides ? target.metres : target.radians;
  T at = T(0), half = T(0);
  bool mine = team.rank() == 0;
  if (!single) {
    const FamilyScan<T> scan = scan_of(question);
    mine = cell_of(scan, team.size() - FamilyScan<T>::most, team.rank(), at, half);
  }
  POISE_ROLLED
  for (int round = 0; round < most_rounds; ++round) {
    const Verdict verdict = mine ? look_at_cell(question, at, half, finest, out) : Verdict::PROVED;
    owner = team.lowest(verdict == Verdict::FOUND);
    if (owner >= 0) return Verdict::FOUND;
    const unsigned left = team.vote(verdict == Verdict::OPEN);
    if (left == 0u) return Verdict::PROVED;
    owner = team.lowest(verdict == Verdict::OPEN);
    const int pieces = team.size() / count_bits(left);
    if (pieces < 2 || team.lowest(verdict == Verdict::OPEN && half <= finest) >= 0) return Verdict::OPEN;
    const int from = place_of_bit(left, team.rank() / pieces), piece = team.rank() % pieces;
    mine = from >= 0;
    const T whole = team.from(half, mine ? from : 0), middle = team.from(at, mine ? from : 0);
    half = whole / T(pieces);
    at = middle - whole + T(2 * piece + 1) * half;
  }
  return Verdict::OPEN;
}

// Of a cell: the branches that are not ruled out in it, and those that exist and are inside the ranges all over it.
struct CellBranches { unsigned open, full; };

template <class T>
POISE_LARGE_FN CellBranches branches_of_cell(const FamilyQuestion<T>& question, T at, T half, unsigned wanted) {
  CellBranches out{0u, 0u};
  const FamilyAsked<T> asked = ask_of(question, at, half);
  walk_branches(question.spec.chain, asked, 1, wanted, [&](const FamilyLeaf<T>& leaf) {
    bool inside = leaf.certain;
    for (int j = 0; j < 6; ++j) inside = inside && surely_inside(question.spec.chain.axes[j], leaf.turn[j]);
    out.open |= 1u << leaf.branch;
    out.full |= inside ? 1u << leaf.branch : 0u;
    return false;
  });
  return out;
}

}  // namespace poise

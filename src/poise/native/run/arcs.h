// arcs.h: the arcs of a free joint: for each branch of a transform, every interval with all joints inside their ranges.
//
// The free joint's range is divided into cells. In a cell, a branch is excluded, or inside everywhere; otherwise a
// second-order expansion bounds the parts in which the branch may be inside, and certainly is. The remainder is a new
// cell, much narrower near a joint limit or where two branches meet: its width shrinks quadratically. In a cell
// narrower than `finest`, the pose at its midpoint decides.
//
// The widest cell is processed first. If the cells run out, at a singular pose that no cell decides, the whole range
// has been covered evenly, and the midpoints decide the rest. Completeness of the arcs is then not proved.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/closed/decide.h"
#include "kernels/closed/flow_cell.h"

namespace poise {

// an interval of the free joint in which a branch is, or may be, inside the ranges
struct Piece {
  int branch;
  double low, high;
};

// The unit of length of the free joint: radians, or a tenth of the chain if it slides.
inline double unit_of_free(const FamilySpec<double>& spec) { return spec.free.slides ? 0.1 * spec.chain.length : 1.0; }

// The work list, with arcs proved inside, arcs decided by their midpoint, and excluded arcs.
class ArcSearch {
 public:
  std::vector<Piece> sure, open;
  int looked = 0;

  ArcSearch(const FamilyQuestion<double>& question, double finest)
      : question_(question), finest_(finest), coarse_(5e-5 * unit_of_free(question.spec)) {
    const FamilyScan<double> scan = scan_of(question);
    double at, half;
    // ends: there are at most `first_cells` cells and one more for each interval
    for (int i = 0; cell_of(scan, first_cells, i, at, half); ++i)
      cells_.push_back({at - half, at + half, all_branches});
    std::make_heap(cells_.begin(), cells_.end(), is_narrower);
  }

  // false if there were too many cells
  bool find(int most) {
    // ends: after `most` cells
    for (; !cells_.empty() && looked < most; ++looked) {
      std::pop_heap(cells_.begin(), cells_.end(), is_narrower);
      const Cell cell = cells_.back();
      cells_.pop_back();
      fresh_.clear();
      look(cell);
      for (const Cell& part : fresh_) {
        cells_.push_back(part);
        std::push_heap(cells_.begin(), cells_.end(), is_narrower);
      }
    }
    for (const Cell& cell : cells_) look_at_middle(cell);
    return cells_.empty();
  }

 private:
  using Leaf = FamilyLeaf<double, Flowing<double>>;
  static constexpr int first_cells = 32;
  static constexpr double alike = 1.5;  // a cell wider than either of two by at most this factor replaces both
  struct Cell {
    double low, high;
    unsigned branches;
  };
  static bool is_narrower(const Cell& a, const Cell& b) { return a.high - a.low < b.high - b.low; }

  // A cell for some branches. Branches often end together, so cells at the same place found together are merged.
  void push(double low, double high, unsigned branches) {
    for (Cell& own : fresh_) {
      const double from = minimum(low, own.low), to = maximum(high, own.high);
      if (to - from > alike * minimum(high - low, own.high - own.low)) continue;
      own = {from, to, own.branches | branches};
      return;
    }
    fresh_.push_back({low, high, branches});
  }
  // adds the remainder of a cell for one branch, divided in two if that is most of the cell
  void push_part(const Cell& cell, double low, double high, unsigned branch) {
    if (!(low < high)) return;
    const double middle = 0.5 * (low + high);
    const bool wide = high - low > 0.6 * (cell.high - cell.low);
    if (wide) push(middle, high, branch);
    push(low, wide ? middle : high, branch);
  }

  static void add(std::vector<Piece>& to, unsigned branches, const Cell& cell) {
    for (int b = 0; b < 8; ++b) {
      if (branches >> b & 1u) to.push_back({b, cell.low, cell.high});
    }
  }

  // decides a cell by the pose at its midpoint
  void look_at_middle(const Cell& cell) {
    const double at = middle_of(cell);
    const CellBranches found = branches_of_cell(question_, at, half_of(cell), cell.branches);
    const unsigned inside = found.full | branches_of_cell(question_, at, 0.0, cell.branches).open;
    add(sure, inside, cell);
    add(open, found.open & ~inside, cell);
  }
  static double middle_of(const Cell& cell) { return 0.5 * (cell.low + cell.high); }
  static double half_of(const Cell& cell) { return 0.5 * (cell.high - cell.low) * (1.0 + 1e-9) + 1e-15; }

  void look(const Cell& cell) {
    if (cell.high - cell.low <= finest_) return look_at_middle(cell);
    const double at = middle_of(cell), half = half_of(cell);
    unsigned wide = 0u;
    walk_cell(question_.spec.chain, flow_of(question_, at, half), cell.branches, [&](const Leaf& leaf) {
      wide |= take(leaf, cell, at, half);
      return false;
    });
    // if the midpoint is undecided, so are its neighbours: the chain itself is not known precisely enough
    if (wide && cell.high - cell.low <= coarse_) {
      const CellBranches middle = branches_of_cell(question_, at, 0.0, wide);
      const unsigned doubt = middle.open & ~middle.full;
      add(sure, doubt, cell);
      wide &= ~doubt;
    }
    if (!wide) return;
    push(at, cell.high, wide);
    push(cell.low, at, wide);
  }

  // applies the result of a leaf to a cell; returns its branch if the cell has to be divided
  unsigned take(const Leaf& leaf, const Cell& cell, double at, double half) {
    const FlowSpan<double>& span = leaf.span;
    const unsigned branch = 1u << leaf.branch;
    const bool none = !(span.from < span.to);
    if (none && span.high - span.low > 1.0) return branch;
    if (none) {
      push_part(cell, at + half * span.low, at + half * span.high, branch);
      return 0u;
    }
    sure.push_back({leaf.branch, at + half * span.from, at + half * span.to});
    push_part(cell, at + half * span.to, at + half * span.high, branch);
    push_part(cell, at + half * span.low, at + half * span.from, branch);
    return 0u;
  }

  const FamilyQuestion<double>& question_;
  double finest_, coarse_;   // rad or m
  std::vector<Cell> cells_;  // a heap, the widest on top
  std::vector<Cell> fresh_;  // found in the last step
};

// merges pieces that touch
inline std::vector<Piece> join(std::vector<Piece> pieces, double gap) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.branch != b.branch ? a.branch < b.branch : a.low < b.low; });
  std::vector<Piece> out;
  for (const Piece& piece : pieces) {
    if (!out.empty() && out.back().branch == piece.branch && piece.low - out.back().high <= gap) {
      out.back().high = maximum(out.back().high, piece.high);
    } else {
      out.push_back(piece);
    }
  }
  return out;
}

constexpr double far_from_arcs = 1e-4;

// whether every point of an interval is within `far` of an arc of its branch; the arcs of a branch are sorted
inline bool is_near_arcs(const Piece& open, const std::vector<Piece>& arcs, double far) {
  double from = open.low;
  for (const Piece& arc : arcs) {
    if (arc.branch != open.branch || arc.high + far < from) continue;
    if (arc.low - far > from) return false;
    from = arc.high + far;
    if (from >= open.high) return true;
  }
  return false;
}

// The merged arcs, and whether they are proved complete: the whole range was processed, and nothing farther from an arc
// than `far_from_arcs` may be inside. If the free joint slides, that and `finest` are relative to a tenth of the
// chain's length.
inline bool find_arcs(const FamilyQuestion<double>& question, double finest, int most, std::vector<Piece>& out) {
  // no finer than the precision of the chain itself
  const double own = question.spec.turn_error + question.spec.point_error / question.spec.chain.length;
  const double unit = unit_of_free(question.spec), width = unit * maximum(finest, own);
  ArcSearch search(question, width);
  bool whole = search.find(most);
  out = join(std::move(search.sure), 2.0 * width);
  for (const Piece& piece : join(std::move(search.open), 2.0 * width))
    whole = whole && is_near_arcs(piece, out, unit * far_from_arcs);
  return whole;
}

}  // namespace poise

// arc_search.h: the search for the arcs of a free joint (arcs.h), and the poses at its values, in the lanes of a pack. Part of
// batch/lists.cpp.
//
// The free joint's range is divided into cells. In a cell, a branch is excluded, or inside everywhere; otherwise a
// second-order expansion bounds the parts in which the branch may be inside, and certainly is. The remainder is a new
// cell, much narrower near a joint limit or where two branches meet: its width shrinks quadratically. In a cell
// narrower than `finest`, the pose at its midpoint decides.
//
// A first cell is one of all branches, every other of one branch. All cells are processed before their parts. If there
// are too many, at a singular pose that no cell decides, the whole range has been covered evenly, and the midpoints
// decide the rest. Completeness of the arcs is then not proved.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/closed/interval_cell.h"
#include "kernels/closed/packed_queries.h"
#include "run/arcs.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

template <class S> class ArcSearch {
 public:
  ArcSearch(const FamilyQuestion<double>& question, double finest, const PieceSink& sink)
      : spec_(spread_spec<S>(question.spec)),
        question_(spread_question(spec_, question)),
        sink_(sink),
        finest_(finest),
        coarse_(5e-5 * unit_of_free(question.spec)) {
    const FamilyScan<double> scan = scan_of(question);
    double at, half;
    const int branches = 1 << choices_of(question.spec.chain);
    // ends: there are at most `first_cells` cells and one more for each interval, whose width is its own
    for (int i = 0; cell_of(scan, first_cells, i, at, half); ++i) {
      const bool narrow = 2.0 * half <= finest_;
      for (int branch = 0; branch < (narrow ? branches : 1); ++branch)
        (narrow ? narrow_ : cells_).push_back({at - half, at + half, branch});
    }
  }

  // false if there were more than `most` cells
  bool find(int most) {
    std::vector<Cell> cells;
    cells.swap(cells_);
    in_packs(cells, [&](const Cell* own, int count) { look_at_all(own, count); });
    int looked = 0;
    // ends: every round takes cells
    while (!cells_.empty() && looked < most) {
      cells.swap(cells_);
      cells_.clear();
      looked += static_cast<int>(cells.size());
      in_packs(cells, [&](const Cell* own, int count) { look(own, count); });
    }
    narrow_.insert(narrow_.end(), cells_.begin(), cells_.end());
    in_packs(narrow_, [&](const Cell* own, int count) { look_at_middles(own, count); });
    return cells_.empty();
  }

 private:
  using Leaf = FamilyLeaf<S, Flowing<S>>;
  static constexpr int lanes = ScalarTraits<S>::lanes, first_cells = 64;
  struct Cell {
    double low, high;
    int branch;
    double at() const { return 0.5 * (low + high); }
    double half() const { return 0.5 * (high - low) * (1.0 + 1e-9) + 1e-15; }
  };
  struct Lanes {
    S at = S(0.0), half = S(0.0);
    BranchSides<S, true> sides;
  };
  // the span of each lane
  struct Parts {
    double low[lanes], high[lanes], from[lanes], to[lanes];
    explicit Parts(const IntervalSpan<S>& span) {
      scatter_row(span.low, low);
      scatter_row(span.high, high);
      scatter_row(span.from, from);
      scatter_row(span.to, to);
    }
  };
  // for each lane: whether its branch is not excluded, and whether it is inside the ranges everywhere
  struct Verdicts { bool open[lanes] = {}, full[lanes] = {}; };

  template <class F> static void in_packs(const std::vector<Cell>& cells, F&& look) {
    const int count = static_cast<int>(cells.size());
    for (int i = 0; i < count; i += lanes) look(cells.data() + i, std::min(lanes, count - i));
  }

  // unused lanes repeat the last cell
  static Lanes gather(const Cell* cells, int count, bool points = false) {
    Lanes out;
    int branches[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const Cell& cell = cells[std::min(lane, count - 1)];
      set_lane(out.at, lane, cell.at());
      set_lane(out.half, lane, points ? 0.0 : cell.half());
      branches[lane] = cell.branch;
    }
    out.sides = sides_of<S>(branches);
    return out;
  }

  void push(double low, double high, int branch) {
    (high - low <= finest_ ? narrow_ : cells_).push_back({low, high, branch});
  }
  // adds the remainder of a cell, divided in two if that is most of the cell
  void push_part(const Cell& cell, double low, double high) {
    if (!(low < high)) return;
    const double middle = 0.5 * (low + high);
    const bool wide = high - low > 0.6 * (cell.high - cell.low);
    if (wide) push(middle, high, cell.branch);
    push(low, wide ? middle : high, cell.branch);
  }

  // first cells, in which any branch may be
  void look_at_all(const Cell* cells, int count) {
    const Lanes own = gather(cells, count);
    walk_cell(spec_.chain, flow_of(question_, own.at, own.half), all_branches, [&](const Leaf& leaf) {
      const Parts parts(leaf.span);
      for (int lane = 0; lane < count; ++lane) take({cells[lane].low, cells[lane].high, leaf.branch}, parts, lane);
      return false;
    });
  }
  void look(const Cell* cells, int count) {
    const Lanes own = gather(cells, count);
    walk_chosen_cells(spec_.chain, flow_of(question_, own.at, own.half), own.sides, [&](const Leaf& leaf) {
      const Parts parts(leaf.span);
      for (int lane = 0; lane < count; ++lane) take(cells[lane], parts, lane);
      return true;
    });
  }

  // applies the result of a leaf to the cell of a lane
  void take(const Cell& cell, const Parts& parts, int lane) {
    const double low = parts.low[lane], high = parts.high[lane], from = parts.from[lane], to = parts.to[lane];
    const double at = cell.at(), half = cell.half();
    if (!(low <= high)) return;
    if (from < to) {
      sink_.add(sink_.to, true, {cell.branch, at + half * from, at + half * to});
      push_part(cell, at + half * to, at + half * high);
      push_part(cell, at + half * low, at + half * from);
    } else if (high - low <= 1.0) {
      push_part(cell, at + half * low, at + half * high);
    } else if (cell.high - cell.low <= coarse_ && is_doubtful(cell)) {
      sink_.add(sink_.to, true, {cell.branch, cell.low, cell.high});
    } else {
      push(at, cell.high, cell.branch);
      push(cell.low, at, cell.branch);
    }
  }

  // If the midpoint is undecided, so are its neighbours: the chain itself is not known precisely enough.
  bool is_doubtful(const Cell& cell) const {
    const Verdicts found = judge(gather(&cell, 1, true));
    return found.open[0] && !found.full[0];
  }

  Verdicts judge(const Lanes& own) const {
    Verdicts out;
    walk_chosen(spec_.chain, ask_of(question_, own.at, own.half), own.sides, [&](const FamilyLeaf<S>& leaf) {
      mask_t<S> inside = leaf.certain;
      for (int j = 0; j < 6; ++j) inside = inside & surely_inside(spec_.chain.axes[j], leaf.turn[j]);
      for (int lane = 0; lane < lanes; ++lane) {
        out.open[lane] = !leaf.span.closed.lane(lane);
        out.full[lane] = out.open[lane] && inside.lane(lane);
      }
      return true;
    });
    return out;
  }

  // decides cells by the poses at their midpoints
  void look_at_middles(const Cell* cells, int count) {
    const Verdicts whole = judge(gather(cells, count)), middle = judge(gather(cells, count, true));
    for (int lane = 0; lane < count; ++lane) {
      const bool inside = whole.full[lane] || middle.open[lane];
      if (inside || whole.open[lane])
        sink_.add(sink_.to, inside, {cells[lane].branch, cells[lane].low, cells[lane].high});
    }
  }

  const FamilySpec<S> spec_;
  const FamilyQuestion<S> question_;
  PieceSink sink_;
  double finest_, coarse_;  // rad or m
  std::vector<Cell> cells_, narrow_;
};

// searches all arcs; false if there were too many cells
template <class S>
bool search_arcs(const FamilyQuestion<double>& question, double finest, int most, const PieceSink& sink) {
  return ArcSearch<S>(question, finest, sink).find(most);
}

// the poses of branches at values of the free joint
template <class S> void place_asked(const FamilyQuestion<double>& question, const ListStart& start, const ArcAsk* asks,
                                    int count, ArcPose* out) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  const FamilySpec<S> spec = spread_spec<S>(question.spec);
  const FamilyQuestion<S> wide = spread_question(spec, question);
  for (int first = 0; first < count; first += lanes) {
    S value = S(0.0);
    int branches[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const ArcAsk& ask = asks[std::min(first + lane, count - 1)];
      set_lane(value, lane, ask.value);
      branches[lane] = ask.branch;
    }
    const int some = std::min(lanes, count - first);
    for (int lane = 0; lane < some; ++lane) out[first + lane].there = false;
    walk_chosen(spec.chain, ask_of(wide, value, S(0.0)), sides_of<S>(branches), [&](const FamilyLeaf<S>& leaf) {
      S joints[7], slacks[7], way = S(0.0);
      joints_of(spec, leaf, value, joints);
      slacks_of(spec, leaf, slacks);
      for (int k = 0; k < 7; ++k) {
        joints[k] = bring_near(axis_of(spec, k), joints[k], S(start.values[k]));
        way = maximum(way, absolute(joints[k] - S(start.values[k])) * S(start.scale[k]));
      }
      double ways[lanes], at[7][lanes], off[7][lanes];
      scatter_row(way, ways);
      for (int k = 0; k < 7; ++k) {
        scatter_row(joints[k], at[k]);
        scatter_row(slacks[k], off[k]);
      }
      for (int lane = 0; lane < some; ++lane) {
        ArcPose& pose = out[first + lane];
        pose.there = !leaf.span.closed.lane(lane);
        pose.value = asks[first + lane].value;
        pose.way = ways[lane];
        for (int k = 0; k < 7; ++k) {
          pose.joints[k] = at[k][lane];
          pose.slacks[k] = off[k][lane];
        }
      }
      return true;
    });
  }
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise

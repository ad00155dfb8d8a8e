// listing.cpp: every pose of a transform, for Python: branches near a start, whole arcs, the nearest pose of each and poses along it.
#define NO_IMPORT_ARRAY
#include "bind/listing.h"

#include <algorithm>
#include <cmath>

#include "bind/bindings.h"

namespace poise {

FamilyTarget<double> target_without_errors(const double* R, const double* p) {
  FamilyTarget<double> target{};
  std::copy(R, R + 9, target.R);
  std::copy(p, p + 3, target.p);
  return target;
}

double bring_near(const FamilyAxis<double>& axis, double v, double near) {
  if (axis.slides) return v;
  const double low = axis.middle - axis.half, high = axis.middle + axis.half;
  double close = v + whole_turn * std::ceil((near - v) / whole_turn - half_turn);
  if (close > high) close -= whole_turn * std::ceil((close - high) / whole_turn - 1e-12);
  if (close >= low) return close;
  const double up = close + whole_turn * std::ceil((low - close) / whole_turn - 1e-12);
  return up <= high + 1e-9 || low - close >= up - high ? up : close;
}

void write_row(const FamilySpec<double>& spec, const FamilyLeaf<double>& leaf, double value, const ListStart& start,
               double* row) {
  FamilyLeaf<double> slack = leaf;
  for (Known<double>& one : slack.turn) one.at = one.slack;
  const int joints = spec.free_joint == FREE_NONE ? 6 : 7;
  std::fill(row, row + row_width, 0.0);
  row[1] = value;
  row[2] = leaf.branch;
  row[3] = leaf.certain ? 1.0 : 0.0;
  joints_of(spec, leaf, value, row + row_joints);
  joints_of(spec, slack, 0.0, row + row_slacks);
  for (int k = 0; k < joints; ++k) {
    const FamilyAxis<double>& axis = axis_of(spec, k);
    double& joint = row[row_joints + static_cast<std::size_t>(k)];
    row[row_excesses + static_cast<std::size_t>(k)] = absolute(turns_off(axis, joint)) - axis.half;
    joint = bring_near(axis, joint, start.values[k]);
    row[4] = maximum(row[4], absolute(joint - start.values[k]) * start.scale[k]);
  }
}

namespace {

using Spec = FamilySpec<double>;
using Question = FamilyQuestion<double>;

Array numbers_of(nb::handle x, const char* name, npy_intp size) {
  Array out = as_array<double>(x, name);
  if (size > 0 && out.size() != size)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(out) + ".");
  require_finite(out.data<double>(), out.size(), 1, name);
  return out;
}

NumpyArray rows_in(const FamilyNumbers& numbers, std::size_t columns) {
  npy_intp shape[2] = {static_cast<npy_intp>(numbers.size() / columns), static_cast<npy_intp>(columns)};
  Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
  std::copy(numbers.begin(), numbers.end(), out.data<double>());
  return out.release();
}

// rows of every branch at some values of the free joint; of many targets, whose number is the first column
NumpyArray list_near(Spec spec, nb::handle R, nb::handle p, nb::handle values, bool inside, nb::handle from,
                     nb::handle scale) {
  const Array turns = numbers_of(R, "R", 0), places = numbers_of(p, "p", turns.size() / 3);
  const Array at = numbers_of(values, "values", 0), near = numbers_of(from, "start", 7);
  const Array unit = numbers_of(scale, "scale", 7);
  spec.chain.prune = inside;
  FamilyNumbers out;
  for (npy_intp i = 0; i < turns.size() / 9; ++i) {
    const auto target = target_without_errors(turns.data<double>() + 9 * i, places.data<double>() + 3 * i);
    const Question question = question_of(spec, target);
    for (npy_intp k = 0; k < at.size(); ++k) {
      const ListStart start{near.data<double>(), unit.data<double>()};
      visit_rows(question, at.data<double>()[k], all_branches, start, [&](double* row) {
        row[0] = static_cast<double>(i);
        out.insert(out.end(), row, row + row_width);
      });
    }
  }
  return rows_in(out, row_width);
}

struct Cell {
  double low, high;
  unsigned branches;
};

// The search for the pieces of arcs. What is sure goes into `sure`. A cell that is neither ruled out nor wholly inside is looked at to the
// second order: of each branch, where in the cell it may be inside and where it surely is. What lies between is a cell again, much narrower
// where a joint passes its limit or two branches meet. In one narrower than `finest` the pose in its middle decides, and where that is
// outside the cell goes into `open`.
class Pieces {
 public:
  std::vector<Piece> sure, open;

  Pieces(const Question& question, double finest) : question_(question), finest_(finest) {
    const FamilyScan<double> scan = scan_of(question);
    double at, half;
    for (int i = 0; cell_of(scan, first_cells, i, at, half); ++i) cells_.push_back({at - half, at + half, all_branches});
    std::reverse(cells_.begin(), cells_.end());
  }

  // false: there were too many cells
  bool find(int most) {
    for (int looked = 0; !cells_.empty() && looked < most; ++looked) {
      const Cell cell = cells_.back();
      cells_.pop_back();
      look(cell);
    }
    return cells_.empty();
  }

 private:
  static constexpr int first_cells = 16;

  static void add(std::vector<Piece>& to, unsigned branches, double low, double high) {
    for (int b = 0; b < 8; ++b) {
      if (branches >> b & 1u) to.push_back({b, low, high});
    }
  }

  void look(const Cell& cell) {
    const double at = 0.5 * (cell.low + cell.high), half = 0.5 * (cell.high - cell.low) * (1.0 + 1e-9) + 1e-15;
    const CellBranches found = branches_of_cell(question_, at, half, cell.branches);
    add(sure, found.full, cell.low, cell.high);
    const unsigned rest = found.open & ~found.full;
    if (!rest) return;
    if (cell.high - cell.low <= finest_) {
      const unsigned inside = branches_of_cell(question_, at, 0.0, rest).open;
      add(sure, inside, cell.low, cell.high);
      add(open, rest & ~inside, cell.low, cell.high);
      return;
    }
    unsigned wide = 0u;
    walk_cell(question_.spec.chain, flow_of(question_, at, half), rest, [&](const FamilyLeaf<double, Flowing<double>>& leaf) {
      wide |= take(leaf, at, half);
      return false;
    });
    if (!wide) return;
    cells_.push_back({at, cell.high, wide});
    cells_.push_back({cell.low, at, wide});
  }

  // what a leaf says of a cell; its branch where that is so little that the cell is to be cut in two
  unsigned take(const FamilyLeaf<double, Flowing<double>>& leaf, double at, double half) {
    const FlowSpan<double>& span = leaf.span;
    const unsigned branch = 1u << leaf.branch;
    if (!(span.from < span.to)) {
      if (span.high - span.low > 1.0) return branch;
      cells_.push_back({at + half * span.low, at + half * span.high, branch});
      return 0u;
    }
    sure.push_back({leaf.branch, at + half * span.from, at + half * span.to});
    if (span.to < span.high) cells_.push_back({at + half * span.to, at + half * span.high, branch});
    if (span.low < span.from) cells_.push_back({at + half * span.low, at + half * span.from, branch});
    return 0u;
  }

  const Question& question_;
  double finest_;
  std::vector<Cell> cells_;
};

// pieces that touch as one
std::vector<Piece> join(std::vector<Piece> pieces, double gap) {
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

// whether every place of an interval is near an arc of its branch; the arcs of a branch are sorted
bool is_near_arcs(const Piece& open, const std::vector<Piece>& arcs) {
  double from = open.low;
  for (const Piece& arc : arcs) {
    if (arc.branch != open.branch || arc.high + far_from_arcs < from) continue;
    if (arc.low - far_from_arcs > from) return false;
    from = arc.high + far_from_arcs;
    if (from >= open.high) return true;
  }
  return false;
}

// Whole arcs of many targets: rows of target, branch, low, high; of each target a last one with branch -1 and whether those are all.
NumpyArray list_whole_arcs(const Spec& spec, nb::handle R, nb::handle p, double finest, int most) {
  const Array turns = numbers_of(R, "R", 0), places = numbers_of(p, "p", turns.size() / 3);
  FamilyNumbers out;
  {
    nb::gil_scoped_release away;
    std::vector<Piece> arcs;
    for (npy_intp i = 0; i < turns.size() / 9; ++i) {
      const auto target = target_without_errors(turns.data<double>() + 9 * i, places.data<double>() + 3 * i);
      const bool whole = find_arcs(question_of(spec, target), finest, most, arcs);
      const auto row = static_cast<double>(i);
      for (const Piece& arc : arcs) out.insert(out.end(), {row, static_cast<double>(arc.branch), arc.low, arc.high});
      out.insert(out.end(), {row, -1.0, whole ? 1.0 : 0.0, 0.0});
    }
  }
  return rows_in(out, 4);
}

// the row of a branch at a value; false: it is not inside the ranges there
bool row_at(const Question& question, int branch, double value, const ListStart& start, double* out) {
  bool found = false;
  visit_rows(question, value, 1u << branch, start, [&](const double* row) {
    std::copy(row, row + row_width, out);
    found = true;
  });
  return found;
}

}  // namespace

bool find_arcs(const Question& question, double finest, int most, std::vector<Piece>& out) {
  // no finer than the chain itself is known
  const double own = question.spec.turn_error + question.spec.point_error / question.spec.chain.length;
  const double width = maximum(finest, own);
  Pieces pieces(question, width);
  bool whole = pieces.find(most);
  out = join(std::move(pieces.sure), 2.0 * width);
  for (const Piece& piece : join(std::move(pieces.open), 2.0 * width)) whole = whole && is_near_arcs(piece, out);
  return whole;
}

// the pose that is nearest to the start: the best of those along the arc, its ends and the start's own value; then of ever closer ones
bool sample_arc(const Question& question, const Piece& arc, int samples, const ListStart& start, FamilyNumbers& out) {
  constexpr int some = 16, few = 4;
  const int free = question.spec.free_joint == FREE_FIRST ? 0 : 6;
  const std::size_t begin = out.size();
  double row[row_width], best[row_width];
  bool found = false;
  const auto look = [&](double value) {
    const bool there = row_at(question, arc.branch, minimum(maximum(value, arc.low), arc.high), start, row);
    if (there && (!found || row[4] < best[4])) {
      std::copy(row, row + row_width, best);
      found = true;
    }
    return there;
  };
  out.resize(begin + row_width);
  look(start.values[free]);
  look(arc.low);
  look(arc.high);
  for (int k = 0; k < samples; ++k) {
    if (look(arc.low + (k + 0.5) / samples * (arc.high - arc.low))) out.insert(out.end(), row, row + row_width);
  }
  for (int k = 1; k < some && samples < some; ++k) look(arc.low + (arc.high - arc.low) * k / some);
  double step = (arc.high - arc.low) / (samples < some ? some : samples);
  for (int round = 0; round < 4 && found; ++round, step /= few) {
    const double middle = best[1];
    for (int i = 1; i < few; ++i) {
      look(middle - step * i / few);
      look(middle + step * i / few);
    }
  }
  if (found) std::copy(best, best + row_width, out.begin() + static_cast<std::ptrdiff_t>(begin));
  if (!found) out.resize(begin);
  return found;
}

void bind_listing(nb::class_<FamilySpec<double>>& form) {
  form.def("near", list_near, nb::arg("R"), nb::arg("p"), nb::arg("values"), nb::arg("inside"), nb::arg("start"),
           nb::arg("scale"),
           "Return (k, 26): target, free value, branch, certain, way from the start, 7 joints near it, 7 slacks, 7 "
           "excesses of ranges, of every branch at those values.");
  form.def("whole_arcs", list_whole_arcs, nb::arg("R"), nb::arg("p"), nb::arg("finest"), nb::arg("most"),
           "Return (k, 4): target, branch, low, high; a row with branch -1 ends a target and says whether these are "
           "all.");
}

}  // namespace poise

// listing.cpp: every pose of a transform, for Python: branches near a start, whole arcs, the nearest pose of each and poses along it.
#define NO_IMPORT_ARRAY
#include <algorithm>
#include <cmath>
#include <vector>

#include "bind/bindings.h"
#include "bind/family.h"

namespace poise {
namespace {

using Row = std::vector<double>;
using Spec = FamilySpec<double>;
using Question = FamilyQuestion<double>;

constexpr double turn = 2.0 * one_pi;
constexpr std::size_t width = 26;  // of a row: arc, value, branch, certain, way, then 7 joints, 7 slacks, 7 excesses

struct Piece {
  int branch;
  double low, high;
};

// Where answers are told from: values of the joints, and what a unit of each counts.
struct Start { const double *values, *scale; };

Array numbers_of(nb::handle x, const char* name, npy_intp size) {
  Array out = as_array<double>(x, name);
  if (size > 0 && out.size() != size)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(out) + ".");
  require_finite(out.data<double>(), out.size(), 1, name);
  return out;
}

FamilyTarget<double> exactly(const double* R, const double* p) {
  FamilyTarget<double> target{};
  std::copy(R, R + 9, target.R);
  std::copy(p, p + 3, target.p);
  return target;
}

// an angle moved by whole turns: inside the range where that is possible, and there as near as can be
double bring_near(const FamilyAxis<double>& axis, double v, double near) {
  if (axis.slides) return v;
  const double low = axis.middle - axis.half, high = axis.middle + axis.half;
  double close = v + turn * std::round((near - v) / turn);
  if (close > high) close -= turn * std::ceil((close - high) / turn - 1e-12);
  if (close >= low) return close;
  const double up = close + turn * std::ceil((low - close) / turn - 1e-12);
  return up <= high + 1e-9 || low - close >= up - high ? up : close;
}

// a leaf as a row; its way is the longest of a joint from the start
void write_row(const Spec& spec, const FamilyLeaf<double>& leaf, double value, const Start& start, double* row) {
  FamilyLeaf<double> slack = leaf;
  for (Known<double>& one : slack.turn) one.at = one.slack;
  const int joints = spec.free_joint == FREE_NONE ? 6 : 7;
  std::fill(row, row + width, 0.0);
  row[1] = value;
  row[2] = leaf.branch;
  row[3] = leaf.certain ? 1.0 : 0.0;
  joints_of(spec, leaf, value, row + 5);
  joints_of(spec, slack, 0.0, row + 12);
  for (int k = 0; k < joints; ++k) {
    const FamilyAxis<double>& axis = axis_of(spec, k);
    double& joint = row[5 + k];
    row[19 + k] = absolute(turns_off(axis, joint)) - axis.half;
    joint = bring_near(axis, joint, start.values[k]);
    row[4] = maximum(row[4], absolute(joint - start.values[k]) * start.scale[k]);
  }
}

// calls visit(row) for every branch at a value of the free joint
template <class F> void visit_rows(const Question& question, double value, const Start& start, F&& visit) {
  const FamilyAsked<double> asked = ask_of(question, value, 0.0);
  walk_branches(question.spec.chain, asked, 1, [&](const FamilyLeaf<double>& leaf) {
    double row[width];
    write_row(question.spec, leaf, value, start, row);
    visit(row);
    return false;
  });
}

NumpyArray rows_in(const Row& numbers, std::size_t columns) {
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
  Row out;
  for (npy_intp i = 0; i < turns.size() / 9; ++i) {
    const auto target = exactly(turns.data<double>() + 9 * i, places.data<double>() + 3 * i);
    const Question question = question_of(spec, target);
    for (npy_intp k = 0; k < at.size(); ++k) {
      visit_rows(question, at.data<double>()[k], {near.data<double>(), unit.data<double>()}, [&](double* row) {
        row[0] = static_cast<double>(i);
        out.insert(out.end(), row, row + width);
      });
    }
  }
  return rows_in(out, width);
}

struct Cell {
  double at, half;
  unsigned branches;
};

// Pieces of arcs. A cell that is neither ruled out nor wholly inside is cut until it is narrower than `finest`; there the pose in its
// middle decides. False: there were too many cells.
bool find_pieces(const Question& question, double finest, int most, std::vector<Piece>& out) {
  std::vector<Cell> cells;
  const FamilyScan<double> scan = scan_of(question);
  Cell first{0.0, 0.0, 0xffu};
  for (int i = 0; cell_of(scan, 16, i, first.at, first.half); ++i) cells.push_back(first);
  int looked = 0;
  for (; !cells.empty() && looked < most; ++looked) {
    const Cell cell = cells.back();
    cells.pop_back();
    const CellBranches found = branches_of_cell(question, cell.at, cell.half);
    unsigned whole = found.full & cell.branches, rest = found.open & cell.branches & ~found.full;
    if (rest && 2.0 * cell.half <= finest) {
      whole |= rest & branches_of_cell(question, cell.at, 0.0).open;
      rest = 0u;
    }
    for (int b = 0; b < 8; ++b) {
      if (whole >> b & 1u) out.push_back({b, cell.at - cell.half, cell.at + cell.half});
    }
    if (!rest) continue;
    cells.push_back({cell.at + 0.5 * cell.half, 0.5 * cell.half, rest});
    cells.push_back({cell.at - 0.5 * cell.half, 0.5 * cell.half, rest});
  }
  return cells.empty();
}

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

// Whole arcs of many targets: rows of target, branch, low, high; of each target a last one with branch -1 and whether it was looked through.
NumpyArray list_whole_arcs(const Spec& spec, nb::handle R, nb::handle p, double finest, int most) {
  const Array turns = numbers_of(R, "R", 0), places = numbers_of(p, "p", turns.size() / 3);
  Row out;
  for (npy_intp i = 0; i < turns.size() / 9; ++i) {
    const auto target = exactly(turns.data<double>() + 9 * i, places.data<double>() + 3 * i);
    std::vector<Piece> pieces;
    const bool whole = find_pieces(question_of(spec, target), finest, most, pieces);
    const auto row = static_cast<double>(i);
    for (const Piece& arc : join(pieces, 2.0 * finest)) {
      out.insert(out.end(), {row, static_cast<double>(arc.branch), arc.low, arc.high});
    }
    out.insert(out.end(), {row, -1.0, whole ? 1.0 : 0.0, 0.0});
  }
  return rows_in(out, 4);
}

// the row of a branch at a value; false: it is not inside the ranges there
bool row_at(const Question& question, int branch, double value, const Start& start, double* out) {
  bool found = false;
  visit_rows(question, value, start, [&](const double* row) {
    if (found || row[2] != branch) return;
    std::copy(row, row + width, out);
    found = true;
  });
  return found;
}

// the pose of an arc that is nearest to the start: the best of some, then of ever closer ones; false: there is none
bool nearest_row(const Question& question, const Piece& arc, const Start& start, double* best) {
  constexpr int some = 16, few = 4;
  const int free = question.spec.free_joint == FREE_FIRST ? 0 : 6;
  double row[width], step = (arc.high - arc.low) / some;
  bool found = row_at(question, arc.branch, minimum(maximum(start.values[free], arc.low), arc.high), start, best);
  const auto look = [&](double value) {
    if (row_at(question, arc.branch, minimum(maximum(value, arc.low), arc.high), start, row) &&
        (!found || row[4] < best[4])) {
      std::copy(row, row + width, best);
      found = true;
    }
  };
  for (int i = 0; i <= some; ++i) look(arc.low + step * i);
  for (int round = 0; round < 4 && found; ++round, step /= few) {
    const double middle = best[1];
    for (int i = 1; i < few; ++i) {
      look(middle - step * i / few);
      look(middle + step * i / few);
    }
  }
  return found;
}

// of each arc (branch, low, high) the nearest row, then rows along it
NumpyArray sample_arcs(const Spec& spec, nb::handle R, nb::handle p, nb::handle arcs, int samples, nb::handle from,
                       nb::handle scale) {
  const Array turns = numbers_of(R, "R", 9), places = numbers_of(p, "p", 3), given = numbers_of(arcs, "arcs", 0);
  const Array near = numbers_of(from, "start", 7), unit = numbers_of(scale, "scale", 7);
  const Start start{near.data<double>(), unit.data<double>()};
  const auto target = exactly(turns.data<double>(), places.data<double>());
  const Question question = question_of(spec, target);
  Row out;
  double row[width];
  const auto add = [&](npy_intp arc) {
    row[0] = static_cast<double>(arc);
    out.insert(out.end(), row, row + width);
  };
  for (npy_intp i = 0; i < given.size() / 3; ++i) {
    const double* x = given.data<double>() + 3 * i;
    const Piece arc{static_cast<int>(x[0]), x[1], x[2]};
    if (nearest_row(question, arc, start, row)) add(i);
    for (int k = 0; k < samples; ++k) {
      if (row_at(question, arc.branch, arc.low + (k + 0.5) / samples * (arc.high - arc.low), start, row)) add(i);
    }
  }
  return rows_in(out, width);
}

}  // namespace

void bind_listing(nb::class_<FamilySpec<double>>& form) {
  form.def("near", list_near, nb::arg("R"), nb::arg("p"), nb::arg("values"), nb::arg("inside"), nb::arg("start"),
           nb::arg("scale"),
           "Return (k, 26): target, free value, branch, certain, way from the start, 7 joints near it, 7 slacks, 7 "
           "excesses of ranges, of every branch at those values.");
  form.def("whole_arcs", list_whole_arcs, nb::arg("R"), nb::arg("p"), nb::arg("finest"), nb::arg("most"),
           "Return (k, 4): target, branch, low, high; a row with branch -1 ends a target and says whether it was "
           "looked through.");
  form.def("samples", sample_arcs, nb::arg("R"), nb::arg("p"), nb::arg("arcs"), nb::arg("samples"), nb::arg("start"),
           nb::arg("scale"), "Return rows as `near` does: of each arc the nearest pose, then poses along it.");
}

}  // namespace poise

// family.cpp: closed forms for Python: decide many transforms, list the branches of one, and the arcs of its free joint.
#define NO_IMPORT_ARRAY
#include "bind/family.h"

#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/bindings.h"

namespace poise {
namespace {

using Row = std::vector<double>;

void read_axis(const Row& x, FamilyAxis<double>& to) {
  for (std::size_t i = 0; i < 3; ++i) {
    to.h[i] = x[i];
    to.p[i] = x[3 + i];
  }
  to.middle = x[6];
  to.half = x[7];
  to.slides = x[8] != 0.0;
}

void read_numbers(const nb::dict& table, const char* name, double* to) {
  const auto x = nb::cast<Row>(table[name]);
  for (std::size_t i = 0; i < x.size(); ++i) to[i] = x[i];
}

Array rows_of_transforms(nb::handle x, const char* name, npy_intp width) {
  Array rows = as_array<double>(x, name);
  if (rows.ndim() < 1 || rows.size() % width)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(rows) + ".");
  require_finite(rows.data<double>(), rows.size(), width, name);
  return rows;
}

FamilyTarget<double> transform_of(const double* R, const double* p, double metres, double radians) {
  FamilyTarget<double> target;
  for (int k = 0; k < 9; ++k) target.R[k] = R[k];
  for (int k = 0; k < 3; ++k) target.p[k] = p[k];
  target.metres = metres;
  target.radians = radians;
  return target;
}

NumpyArray filled(const Row& numbers, npy_intp width) {
  npy_intp shape[2] = {static_cast<npy_intp>(numbers.size()) / width, width};
  Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
  for (std::size_t i = 0; i < numbers.size(); ++i) out.data<double>()[i] = numbers[i];
  return out.release();
}

// (n, 9): verdict, cells looked at, then the joints of the pose that was found or came close
NumpyArray decide_many(const FamilySpec<double>& spec, nb::handle R, nb::handle p, double metres, double radians,
                       int most) {
  const Array turns = rows_of_transforms(R, "R", 9), places = rows_of_transforms(p, "p", 3);
  npy_intp shape[2] = {turns.size() / 9, 9};
  if (places.size() / 3 != shape[0]) refuse("ShapeMismatch", "R and p must be as many.");
  Array out(PyArray_ZEROS(2, shape, NPY_DOUBLE, 0));
  nb::gil_scoped_release away;
  for (npy_intp i = 0; i < shape[0]; ++i) {
    double* row = out.data<double>() + 9 * i;
    int cells = 0;
    const auto target = transform_of(turns.data<double>() + 9 * i, places.data<double>() + 3 * i, metres, radians);
    row[0] = static_cast<double>(decide(spec, target, most, row + 2, cells));
    row[1] = cells;
  }
  nb::gil_scoped_acquire back;
  return out.release();
}

// Every branch at some values of the free joint: rows of value, branch, certain, 7 joints, 7 slacks.
NumpyArray list_branches(FamilySpec<double> spec, nb::handle R, nb::handle p, nb::handle values, bool inside) {
  const Array turns = rows_of_transforms(R, "R", 9), places = rows_of_transforms(p, "p", 3);
  const Array at = rows_of_transforms(values, "values", 1);
  const auto target = transform_of(turns.data<double>(), places.data<double>(), 0.0, 0.0);
  spec.chain.prune = inside;
  const FamilyQuestion<double> question = question_of(spec, target);
  Row out;
  for (npy_intp i = 0; i < at.size(); ++i) {
    const double u = at.data<double>()[i];
    const FamilyAsked<double> asked = ask_of(question, u, 0.0);
    walk_branches(spec.chain, asked, 1, all_branches, [&](const FamilyLeaf<double>& leaf) {
      FamilyLeaf<double> slack = leaf;
      for (Known<double>& turn : slack.turn) turn.at = turn.slack;
      out.insert(out.end(), {u, static_cast<double>(leaf.branch), leaf.certain ? 1.0 : 0.0});
      out.resize(out.size() + 14, 0.0);
      joints_of(spec, leaf, u, out.data() + out.size() - 14);
      joints_of(spec, slack, 0.0, out.data() + out.size() - 7);
      return false;
    });
  }
  return filled(out, 17);
}

struct Cell {
  double at, half;
  unsigned branches;
};

// whether the nominal pose of a branch is inside the ranges at a value of the free joint
unsigned branches_inside(const FamilyQuestion<double>& question, double at) {
  return branches_of_cell(question, at, 0.0, all_branches).open;
}

// Pieces of arcs of the free joint: rows of branch, low, high. A cell that is neither ruled out nor wholly inside is cut until it is
// narrower than `finest`; there the pose in its middle decides. The last row says with 1 that no cell was left.
NumpyArray list_arcs(const FamilySpec<double>& spec, nb::handle R, nb::handle p, double finest, int most) {
  const Array turns = rows_of_transforms(R, "R", 9), places = rows_of_transforms(p, "p", 3);
  const auto target = transform_of(turns.data<double>(), places.data<double>(), 0.0, 0.0);
  const FamilyQuestion<double> question = question_of(spec, target);
  constexpr int begin = 16;
  double middle, half;
  scanned_range(spec.free, middle, half);
  std::vector<Cell> cells;
  for (int i = begin; i-- > 0;) cells.push_back({middle - half + (2 * i + 1) * half / begin, half / begin, 0xffu});
  Row out;
  int looked = 0;
  for (; !cells.empty() && looked < most; ++looked) {
    const Cell cell = cells.back();
    cells.pop_back();
    const CellBranches found = branches_of_cell(question, cell.at, cell.half, cell.branches);
    unsigned whole = found.full & cell.branches, rest = found.open & cell.branches & ~found.full;
    if (rest && 2.0 * cell.half <= finest) {
      whole |= rest & branches_inside(question, cell.at);
      rest = 0u;
    }
    for (int b = 0; b < 8; ++b) {
      if (whole >> b & 1u) out.insert(out.end(), {static_cast<double>(b), cell.at - cell.half, cell.at + cell.half});
    }
    if (!rest) continue;
    cells.push_back({cell.at + 0.5 * cell.half, 0.5 * cell.half, rest});
    cells.push_back({cell.at - 0.5 * cell.half, 0.5 * cell.half, rest});
  }
  out.insert(out.end(), {cells.empty() ? 1.0 : 0.0, static_cast<double>(looked), 0.0});
  return filled(out, 3);
}

}  // namespace

FamilySpec<double> read_family(const nb::dict& table) {
  FamilySpec<double> spec{};
  const auto axes = nb::cast<std::vector<Row>>(table["axes"]);
  for (std::size_t j = 0; j < 6; ++j) read_axis(axes[j], spec.chain.axes[j]);
  read_axis(nb::cast<Row>(table["free"]), spec.free);
  read_numbers(table, "center", spec.chain.center);
  read_numbers(table, "meet", spec.chain.meet);
  read_numbers(table, "R0", spec.R0);
  read_numbers(table, "p0", spec.p0);
  spec.chain.plan = nb::cast<int>(table["plan"]);
  spec.chain.prune = 1;
  spec.chain.length = nb::cast<double>(table["length"]);
  spec.backwards = nb::cast<int>(table["backwards"]);
  spec.free_joint = nb::cast<int>(table["free_joint"]);
  spec.point_error = nb::cast<double>(table["point_error"]);
  spec.turn_error = nb::cast<double>(table["turn_error"]);
  measure_third(spec);
  measure_fifth(spec.chain);
  return spec;
}

void take_closed(SolverData& to, const nb::dict& form) {
  ClosedForm<double> closed{};
  closed.goal = nb::cast<int>(form["goal"]);
  closed.spec = read_family(form);
  using Numbers = std::vector<double>;
  const auto q = nb::cast<std::vector<int>>(form["q"]);
  const auto gain = nb::cast<Numbers>(form["gain"]), bias = nb::cast<Numbers>(form["bias"]);
  closed.joints = static_cast<int>(q.size());
  for (std::size_t k = 0; k < q.size() && k < 7; ++k) {
    closed.q_index[k] = q[k];
    closed.gain[k] = gain[k];
    closed.bias[k] = bias[k];
  }
  to.closed.push_back(closed);
}

void bind_family(nb::module_& m) {
  using Spec = FamilySpec<double>;
  nb::class_<Spec> form(m, "ClosedForm", "A chain of a family: every branch of a transform, with bounds.");
  form.def(
          "__init__", [](Spec* self, const AnyDict& table) { new (self) Spec(read_family(table)); }, nb::arg("table"))
      .def("decide", decide_many, nb::arg("R"), nb::arg("p"), nb::arg("metres"), nb::arg("radians"), nb::arg("most"),
           "Return (n, 9) of n transforms: verdict (0 proved, 1 found, 2 open), cells, joints.")
      .def("branches", list_branches, nb::arg("R"), nb::arg("p"), nb::arg("values"), nb::arg("inside"),
           "Return (k, 17): free value, branch, certain, 7 joints, 7 slacks, of every branch at those values.")
      .def("arcs", list_arcs, nb::arg("R"), nb::arg("p"), nb::arg("finest"), nb::arg("most"),
           "Return (k, 3): branch, low, high; the last row says whether it was looked through, and the cells.");
  bind_listing(form);
}

}  // namespace poise

// family.cpp: closed forms for Python: their tables, and the decision of many transforms.
#define NO_IMPORT_ARRAY
#include "bind/family.h"

#include <nanobind/stl/vector.h>

#include <cstddef>
#include <vector>

#include "bind/bindings.h"
#include "bind/listing.h"
#include "run/listed.h"

namespace poise {
namespace {

using Row = std::vector<double>;

void read_numbers(const nb::handle& table, const char* name, double* to) {
  const auto x = nb::cast<Row>(table[name]);
  for (std::size_t i = 0; i < x.size(); ++i) to[i] = x[i];
}

void read_axis(const nb::handle& table, FamilyAxis<double>& to) {
  read_numbers(table, "h", to.h);
  read_numbers(table, "p", to.p);
  to.middle = nb::cast<double>(table["middle"]);
  to.half = nb::cast<double>(table["half"]);
  to.slides = nb::cast<bool>(table["slides"]);
}

Array rows_of_transforms(nb::handle x, const char* name, npy_intp width) {
  Array rows = as_array<double>(x, name);
  if (rows.ndim() < 1 || rows.size() % width)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(rows) + ".");
  require_finite(rows.data<double>(), rows.size(), width, name);
  return rows;
}

// A transform decided: the joints are those of the pose that was found or came close.
struct VerdictRow {
  std::int64_t verdict, cells;
  double joints[7];
};

NumpyArray decide_many(const FamilySpec<double>& spec, nb::handle R, nb::handle p, double metres, double radians,
                       int most) {
  const Array turns = rows_of_transforms(R, "R", 9), places = rows_of_transforms(p, "p", 3);
  std::vector<VerdictRow> out(static_cast<std::size_t>(turns.size() / 9));
  if (places.size() / 3 != turns.size() / 9) refuse("ShapeMismatch", "R and p must be as many.");
  {
    const nb::gil_scoped_release away;
    const double *turn = turns.data<double>(), *place = places.data<double>();
    for (VerdictRow& row : out) {
      auto target = target_without_errors(turn, place);
      target.metres = metres;
      target.radians = radians;
      int cells = 0;
      row.verdict = static_cast<int>(decide(spec, target, most, row.joints, cells));
      row.cells = cells;
      turn += 9;
      place += 3;
    }
  }
  Layout layout;
  layout.add("verdict", "i8", offsetof(VerdictRow, verdict));
  layout.add("cells", "i8", offsetof(VerdictRow, cells));
  layout.add("joints", "7f8", offsetof(VerdictRow, joints));
  return array_of_rows(out, layout);
}

struct Cell {
  double at, half;
  unsigned branches;
};

// Cells of the free joint in which a branch is inside its ranges, the finest at the ends of an arc: a cell that is
// neither excluded nor wholly inside is divided until it is narrower than `finest`, where its midpoint decides.
std::vector<Piece> list_arc_cells(const FamilySpec<double>& spec, nb::handle R, nb::handle p, double finest, int most) {
  const Array turns = rows_of_transforms(R, "R", 9), places = rows_of_transforms(p, "p", 3);
  const auto target = target_without_errors(turns.data<double>(), places.data<double>());
  const FamilyQuestion<double> question = question_of(spec, target);
  constexpr int begin = 16;
  double middle, half;
  scanned_range(spec.free, middle, half);
  std::vector<Cell> cells;
  for (int i = begin; i-- > 0;) cells.push_back({middle - half + (2 * i + 1) * half / begin, half / begin, 0xffu});
  std::vector<Piece> out;
  // ends: after `most` cells
  for (int looked = 0; !cells.empty() && looked < most; ++looked) {
    const Cell cell = cells.back();
    cells.pop_back();
    const CellBranches found = branches_of_cell(question, cell.at, cell.half, cell.branches);
    unsigned whole = found.full & cell.branches, rest = found.open & cell.branches & ~found.full;
    if (rest && 2.0 * cell.half <= finest) {
      whole |= rest & branches_of_cell(question, cell.at, 0.0, all_branches).open;
      rest = 0u;
    }
    for (int b = 0; b < 8; ++b) {
      if (whole >> b & 1u) out.push_back({b, cell.at - cell.half, cell.at + cell.half});
    }
    if (!rest) continue;
    cells.push_back({cell.at + 0.5 * cell.half, 0.5 * cell.half, rest});
    cells.push_back({cell.at - 0.5 * cell.half, 0.5 * cell.half, rest});
  }
  return out;
}

}  // namespace

FamilySpec<double> read_family(const nb::dict& table) {
  FamilySpec<double> spec{};
  for (int j = 0; j < 6; ++j) read_axis(table["axes"][j], spec.chain.axes[j]);
  read_axis(table["free"], spec.free);
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

namespace {

ClosedForm<double> read_closed(const nb::dict& form) {
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
  return closed;
}

}  // namespace

void take_closed(SolverData& to, const nb::dict& form) { to.closed.push_back(read_closed(form)); }

void take_sampled(SolverData& to, const nb::object& form) {
  if (form.is_none()) return;
  const auto table = nb::cast<nb::dict>(form);
  SampledForm sampled{read_closed(table), {}};
  for (nb::handle entry : nb::cast<nb::list>(table["sampled"])) {
    SampledAxis axis{{},
                     nb::cast<int>(entry["q"]),
                     nb::cast<double>(entry["gain"]),
                     nb::cast<double>(entry["bias"]),
                     nb::cast<bool>(entry["behind"])};
    read_axis(entry, axis.axis);
    sampled.axes.push_back(axis);
  }
  to.sampled = std::make_shared<const SampledForm>(std::move(sampled));
}

void take_branches(SolverData& to, const nb::object& form) {
  if (form.is_none()) return;
  const auto table = nb::cast<nb::dict>(form);
  const ClosedForm<double> closed = read_closed(table);
  BranchStart start{closed, measure_joints(to, closed), nb::cast<bool>(table["exact"])};
  for (const Freedom<double>& f : to.freedoms) {
    for (int k = 0; k < closed.joints; ++k) {
      if (closed.q_index[k] == f.q_index) start.joints.unit[k] /= square_root(f.weight);
    }
  }
  to.branches = std::make_shared<const BranchStart>(start);
  reserve_list(closed, static_cast<std::size_t>(to.n_q), to.listed);
}

void bind_family(nb::module_& m) {
  using Spec = FamilySpec<double>;
  nb::class_<Spec> form(m, "ClosedForm", "A chain of a family: every branch of a transform, with bounds.");
  form.def(
          "__init__", [](Spec* self, const AnyDict& table) { new (self) Spec(read_family(table)); }, nb::arg("table"))
      .def("decide", decide_many, nb::arg("R"), nb::arg("p"), nb::arg("metres"), nb::arg("radians"), nb::arg("most"),
           "Return a structured array (n,) of n transforms: verdict (0 proved, 1 found, 2 open), cells, 7 joints.")
      .def("arc_cells", list_arc_cells, nb::arg("R"), nb::arg("p"), nb::arg("finest"), nb::arg("most"),
           "Return cells of the free joint that cover the arcs of a transform, the finest at their ends.");
  bind_listing(m, form);
}

}  // namespace poise

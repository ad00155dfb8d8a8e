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

// The verdict on each transform.
std::vector<int> decide_many(const FamilySpec<double>& spec, nb::handle R, nb::handle p, double metres, double radians,
                             int most) {
  const Transforms given(R, p);
  std::vector<int> out;
  const nb::gil_scoped_release away;
  for (npy_intp i = 0; i < given.count; ++i) {
    auto target = target_without_errors(given.R(i), given.p(i));
    target.metres = metres;
    target.radians = radians;
    double joints[7];
    int cells = 0;
    out.push_back(static_cast<int>(decide(spec, target, most, joints, cells)));
  }
  return out;
}

}  // namespace

void read_axis(const nb::handle& table, FamilyAxis<double>& to) {
  read_numbers(table, "h", to.h);
  read_numbers(table, "p", to.p);
  to.middle = nb::cast<double>(table["middle"]);
  to.half = nb::cast<double>(table["half"]);
  to.slides = nb::cast<bool>(table["slides"]);
}

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
           "Return the verdicts on n transforms: 0 if no pose is within the tolerances, 1 if one is, 2 if open.");
  bind_listing(m, form);
}

}  // namespace poise

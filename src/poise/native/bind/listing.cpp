// listing.cpp: every pose of a transform, for Python: branches near a start, whole arcs, the nearest pose of each and poses along it.
#define NO_IMPORT_ARRAY
#include "bind/listing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "bind/bindings.h"
#include "bind/layout.h"

namespace poise {

FamilyTarget<double> target_without_errors(const double* R, const double* p) {
  FamilyTarget<double> target{};
  std::copy(R, R + 9, target.R);
  std::copy(p, p + 3, target.p);
  return target;
}

BranchRow row_of(const FamilySpec<double>& spec, const FamilyLeaf<double>& leaf, double value, const ListStart& start) {
  FamilyLeaf<double> slack = leaf;
  for (Known<double>& one : slack.turn) one.at = one.slack;
  const int joints = spec.free_joint == FREE_NONE ? 6 : 7;
  BranchRow row{};
  row.value = value;
  row.branch = leaf.branch;
  row.certain = leaf.certain ? 1 : 0;
  joints_of(spec, leaf, value, row.joints);
  joints_of(spec, slack, 0.0, row.slacks);
  for (int k = 0; k < joints; ++k) {
    const FamilyAxis<double>& axis = axis_of(spec, k);
    double& joint = row.joints[k];
    row.excesses[k] = absolute(turns_off(axis, joint)) - axis.half;
    joint = bring_near(axis, joint, start.values[k]);
    row.way = maximum(row.way, absolute(joint - start.values[k]) * start.scale[k]);
  }
  return row;
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

// a new array of rows, whose members Python reads by name
NumpyArray branch_rows(const std::vector<BranchRow>& rows) {
  Layout layout;
  for (const auto& [name, at] : {std::pair{"target", offsetof(BranchRow, target)},
                                 {"branch", offsetof(BranchRow, branch)},
                                 {"certain", offsetof(BranchRow, certain)}})
    layout.add(name, "i8", at);
  for (const auto& [name, at] : {std::pair{"value", offsetof(BranchRow, value)}, {"way", offsetof(BranchRow, way)}})
    layout.add(name, "f8", at);
  for (const auto& [name, at] : {std::pair{"joints", offsetof(BranchRow, joints)},
                                 {"slacks", offsetof(BranchRow, slacks)},
                                 {"excesses", offsetof(BranchRow, excesses)}})
    layout.add(name, "7f8", at);
  PyArray_Descr* type = nullptr;
  if (!PyArray_DescrConverter(layout.for_dtype(sizeof(BranchRow)).ptr(), &type)) throw nb::python_error();
  npy_intp shape[1] = {static_cast<npy_intp>(rows.size())};
  Array out(PyArray_NewFromDescr(&PyArray_Type, type, 1, shape, nullptr, nullptr, 0, nullptr));
  std::copy(rows.begin(), rows.end(), out.data<BranchRow>());
  return out.release();
}

// rows of every branch of many targets at some values of the free joint
NumpyArray list_near(Spec spec, nb::handle R, nb::handle p, nb::handle values, bool inside, nb::handle from,
                     nb::handle scale, double metres, double radians) {
  const Array turns = numbers_of(R, "R", 0), places = numbers_of(p, "p", turns.size() / 3);
  const Array at = numbers_of(values, "values", 0), near = numbers_of(from, "start", 7);
  const Array unit = numbers_of(scale, "scale", 7);
  spec.chain.prune = inside;
  std::vector<BranchRow> out;
  {
    const nb::gil_scoped_release away;
    const ListStart start{near.data<double>(), unit.data<double>()};
    for (npy_intp i = 0; i < turns.size() / 9; ++i) {
      auto target = target_without_errors(turns.data<double>() + 9 * i, places.data<double>() + 3 * i);
      target.metres = metres;
      target.radians = radians;
      const Question question = question_of(spec, target);
      for (npy_intp k = 0; k < at.size(); ++k) {
        visit_rows(question, at.data<double>()[k], all_branches, start, [&](BranchRow row) {
          row.target = i;
          out.push_back(row);
        });
      }
    }
  }
  return branch_rows(out);
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

}  // namespace

void bind_listing(nb::class_<FamilySpec<double>>& form) {
  form.def("near", list_near, nb::arg("R"), nb::arg("p"), nb::arg("values"), nb::arg("inside"), nb::arg("start"),
           nb::arg("scale"), nb::arg("metres") = 0.0, nb::arg("radians") = 0.0,
           "Return a structured array (k,) with a row of every branch at those values: target, branch, certain, value "
           "of the free joint, way from the start, 7 joints, slacks and excesses. `inside`: leave out branches that "
           "are outside their ranges within the tolerances.");
  form.def("whole_arcs", list_whole_arcs, nb::arg("R"), nb::arg("p"), nb::arg("finest"), nb::arg("most"),
           "Return (k, 4): target, branch, low, high; a row with branch -1 ends a target and says whether these are "
           "all.");
}

}  // namespace poise

// listing.cpp: every pose of a transform, for Python: branches near a start, whole arcs, the nearest pose of each and poses along it.
#define NO_IMPORT_ARRAY
#include "bind/listing.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "bind/bindings.h"

namespace poise {

FamilyTarget<double> target_without_errors(const double* R, const double* p) {
  FamilyTarget<double> target{};
  std::copy(R, R + 9, target.R);
  std::copy(p, p + 3, target.p);
  return target;
}

BranchRow row_of(const FamilySpec<double>& spec, const FamilyLeaf<double>& leaf, double value, const ListStart& start) {
  const int joints = spec.free_joint == FREE_NONE ? 6 : 7;
  BranchRow row{};
  row.value = value;
  row.branch = leaf.branch;
  row.certain = leaf.certain ? 1 : 0;
  joints_of(spec, leaf, value, row.joints);
  slacks_of(spec, leaf, row.slacks);
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

using SevenNumbers = std::array<double, 7>;

// one number for each joint of a chain
SevenNumbers joint_numbers(const Spec& spec, nb::handle x, const char* name, double otherwise) {
  SevenNumbers out;
  out.fill(otherwise);
  const int joints = spec.free_joint == FREE_NONE ? 6 : 7;
  if (!x.is_none()) std::copy_n(numbers_of(x, name, joints).data<double>(), joints, out.begin());
  return out;
}

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
  return array_of_rows(rows, layout);
}

// rows of every branch of many targets at some values of the free joint
NumpyArray list_near(Spec spec, nb::handle R, nb::handle p, nb::handle values, bool inside, nb::handle from,
                     nb::handle scale, double metres, double radians) {
  const Transforms given(R, p);
  const Array at = numbers_of(values, "values", 0);
  const SevenNumbers near = joint_numbers(spec, from, "start", 0.0), unit = joint_numbers(spec, scale, "scale", 1.0);
  spec.chain.prune = inside;
  std::vector<BranchRow> out;
  {
    const nb::gil_scoped_release away;
    const ListStart start{near.data(), unit.data()};
    for (npy_intp i = 0; i < given.count; ++i) {
      auto target = target_without_errors(given.R(i), given.p(i));
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

std::vector<ArcList> list_whole_arcs(const Spec& spec, nb::handle R, nb::handle p, double finest, int most) {
  const Transforms given(R, p);
  const nb::gil_scoped_release away;
  std::vector<ArcList> out(static_cast<std::size_t>(given.count));
  for (npy_intp i = 0; i < given.count; ++i) {
    ArcList& own = out[static_cast<std::size_t>(i)];
    own.complete = find_arcs(question_of(spec, target_without_errors(given.R(i), given.p(i))), finest, most, own.arcs);
  }
  return out;
}

}  // namespace

void bind_listing(nb::module_& m, nb::class_<FamilySpec<double>>& form) {
  nb::class_<Piece>(m, "Arc", "An interval of the free joint in which a branch is inside the ranges.")
      .def_ro("branch", &Piece::branch)
      .def_ro("low", &Piece::low)
      .def_ro("high", &Piece::high);
  nb::class_<ArcList>(m, "ArcList", "The arcs of a transform.")
      .def_ro("arcs", &ArcList::arcs)
      .def_ro("complete", &ArcList::complete, "Whether these are proved to be all.");
  form.def("near", list_near, nb::arg("R"), nb::arg("p"), nb::arg("values"), nb::arg("inside"),
           nb::arg("start") = nb::none(), nb::arg("scale") = nb::none(), nb::arg("metres") = 0.0,
           nb::arg("radians") = 0.0,
           "Return a structured array (k,) with a row of every branch at those values: target, branch, certain, value "
           "of the free joint, way from the start (default: zeros), 7 joints, slacks and excesses. `inside`: leave out "
           "branches that are outside their ranges within the tolerances.");
  form.def("whole_arcs", list_whole_arcs, nb::arg("R"), nb::arg("p"), nb::arg("finest"), nb::arg("most"),
           "Return the arcs of each transform.");
}

}  // namespace poise

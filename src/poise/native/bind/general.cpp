// general.cpp: the poses of chains in general position, for Python.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "bind/bindings.h"
#include "bind/family.h"
#include "kernels/closed/exclusion.h"
#include "run/listed.h"

namespace poise {
namespace {

void make_chain(GeneralChain* self, const nb::typed<nb::list, nb::any>& axes, const std::vector<double>& R0,
                const std::vector<double>& p0, double unit, const std::vector<bool>& held) {
  if (axes.size() > GeneralChain::most || held.size() != axes.size() ||
      std::count(held.begin(), held.end(), false) != 6 || R0.size() != 9 || p0.size() != 3)
    refuse("ShapeMismatch", "a general chain has six axes, at most ten that are held, and a transform.");
  new (self) GeneralChain{};
  std::vector<double> middles;
  for (nb::handle entry : axes) {
    FamilyAxis<double> axis;
    read_axis(entry, axis);
    std::copy_n(axis.h, 3, self->h[self->joints]);
    std::copy_n(axis.p, 3, self->p[self->joints]);
    self->middle[self->joints] = axis.middle;
    self->half[self->joints] = axis.half;
    self->slides[self->joints] = axis.slides;
    self->held[self->joints] = held[static_cast<std::size_t>(self->joints)];
    if (self->held[self->joints++]) middles.push_back(axis.middle);
  }
  std::copy_n(R0.data(), 9, self->R0);
  std::copy_n(p0.data(), 3, self->p0);
  self->unit = unit;
  const nb::gil_scoped_release away;
  self->variants = list_ops().choose_variants(loop_of(*self, self->R0, self->p0, middles.data()));
}

struct GeneralRow {
  std::int64_t target;
  double joints[GeneralChain::most];
};

// Every pose of targets, with the held joints at values, a row for each query; and for each of both whether these are all: by
// the count of roots, or by exclusion of others if asked.
nb::typed<nb::tuple, nb::any, std::vector<bool>> find_poses(const GeneralChain& chain, nb::handle R, nb::handle p,
                                                            nb::handle values, bool exclude) {
  const Transforms given(R, p);
  const Array at = as_array<double>(values, "values");
  const npy_intp held = chain.joints - 6, count = held ? at.size() / held : 1;
  require_finite(at.data<double>(), at.size(), 1, "values");
  std::vector<GeneralRow> rows;
  std::vector<bool> complete;
  {
    const nb::gil_scoped_release away;
    for (npy_intp i = 0; i < given.count; ++i) {
      for (npy_intp k = 0; k < count; ++k) {
        const double* own = at.data<double>() + k * held;
        GeneralPoses poses;
        list_ops().find_general(loop_of(chain, given.R(i), given.p(i), own), chain.variants, poses);
        const bool whole = exclude && held == 0 && !poses.complete;
        complete.push_back(poses.complete ||
                           (whole && exclude_general(chain, given.R(i), given.p(i), 0.0, 0.0, &poses)));
        for (int pose = 0; pose < poses.count; ++pose) {
          GeneralRow row{i, {}};
          for (int joint = 0, from = 0, of = 0; joint < chain.joints; ++joint) {
            row.joints[joint] = chain.held[joint] ? own[of++] : poses.pose[pose].at[from++];
          }
          rows.push_back(row);
        }
      }
    }
  }
  Layout layout;
  layout.add("target", "i8", offsetof(GeneralRow, target));
  layout.add("joints", "16f8", offsetof(GeneralRow, joints));
  return nb::typed<nb::tuple, nb::any, std::vector<bool>>(nb::make_tuple(array_of_rows(rows, layout), complete));
}

// Whether each transform certainly has no pose within the tolerances.
std::vector<bool> exclude_many(const GeneralChain& chain, nb::handle R, nb::handle p, double metres, double radians) {
  const Transforms given(R, p);
  std::vector<bool> out;
  const nb::gil_scoped_release away;
  for (npy_intp i = 0; i < given.count; ++i) {
    out.push_back(exclude_general(chain, given.R(i), given.p(i), metres, radians));
  }
  return out;
}

}  // namespace

void bind_general(nb::module_& m) {
  nb::class_<GeneralChain>(m, "GeneralChain", "Six rotations in general position, among joints that are held.")
      .def("__init__", make_chain, nb::arg("axes"), nb::arg("R0"), nb::arg("p0"), nb::arg("unit"), nb::arg("held"))
      .def("exclude", exclude_many, nb::arg("R"), nb::arg("p"), nb::arg("metres"), nb::arg("radians"),
           "Return whether each of n transforms certainly has no pose within the tolerances.")
      .def("find", find_poses, nb::arg("R"), nb::arg("p"), nb::arg("values"), nb::arg("exclude"),
           "Return a structured array (k,) of the poses of n transforms with the held joints at each of m rows of "
           "values, and for each transform and row whether these are all; `exclude` tries longer to prove that.");
}

}  // namespace poise

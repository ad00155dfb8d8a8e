// nearest.cpp: bindings of the nearest-neighbour search, and of the Gaussian of the neighbours.
#define NO_IMPORT_ARRAY
#include "bind/bindings.h"

#include <algorithm>
#include <cmath>

#include "memory/point_data.h"

namespace poise {
namespace {

void make_points(PointData* self, nb::handle points) {
  const Array a = as_array<double>(points, "points");
  if (a.ndim() != 2 || a.dim(0) < 1 || a.dim(1) < 1 || a.dim(0) > 1'000'000'000 || a.dim(1) > 100'000) {
    refuse("ShapeMismatch", "points has shape " + shape_text(a) + "; it must be (points, numbers).");
  }
  require_finite(a.data<double>(), a.size(), a.dim(1), "points");
  const nb::gil_scoped_release release;
  new (self) PointData(make_point_data(a.data<double>(), static_cast<int>(a.dim(0)), static_cast<int>(a.dim(1))));
}

// (index, distance) of the nearest points, nearest first
AnyTuple find(const PointData& self, nb::handle place, int many) {
  const Array at = as_array<double>(place, "place");
  if (at.size() != self.dim) refuse("ShapeMismatch", "place has shape " + shape_text(at) + ".");
  require_finite(at.data<double>(), at.size(), at.size(), "place");
  npy_intp dims[1] = {std::clamp<npy_intp>(many, 1, static_cast<npy_intp>(self.rows.size()))};
  Array rows(PyArray_SimpleNew(1, dims, NPY_INT32)), far(PyArray_SimpleNew(1, dims, NPY_DOUBLE));
  double* distances = far.data<double>();
  find_nearest(self.view(), at.data<double>(), static_cast<int>(dims[0]), distances, rows.data<int>());
  for (npy_intp k = 0; k < dims[0]; ++k) distances[k] = std::sqrt(distances[k]);
  return nb::make_tuple(rows.release(), far.release());
}

// (mean, covariance) of rows of x at the given distances
AnyTuple gaussian_of(nb::handle x, nb::handle rows, nb::handle far, nb::handle least, double share) {
  const Array all = as_array<double>(x, "x"), distances = as_array<double>(far, "far");
  const Array floor = as_array<double>(least, "least");
  const Array which(PyArray_FROM_OTF(rows.ptr(), NPY_INT32, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
  if (all.ndim() != 2 || distances.size() != which.size() || floor.size() != all.dim(1) * all.dim(1)) {
    refuse("ShapeMismatch", "rows, far and least do not fit x.");
  }
  const int n = static_cast<int>(which.size()), d = static_cast<int>(all.dim(1));
  for (int k = 0; k < n; ++k) {
    if (which.data<int>()[k] < 0 || which.data<int>()[k] >= all.dim(0)) refuse("InvalidValue", "rows are not of x.");
  }
  npy_intp dims[2] = {d, d};
  Array mean(PyArray_SimpleNew(1, dims, NPY_DOUBLE)), spread(PyArray_SimpleNew(2, dims, NPY_DOUBLE));
  std::vector<double> away(static_cast<std::size_t>(n) * static_cast<std::size_t>(d)),
      weights(static_cast<std::size_t>(n));
  weigh_by_distance(distances.data<double>(), n, weights.data());
  gather_gaussian(all.data<double>(), which.data<int>(), weights.data(), n, d, floor.data<double>(), share,
                  mean.data<double>(), spread.data<double>(), away.data());
  return nb::make_tuple(mean.release(), spread.release());
}

}  // namespace

void bind_nearest(nb::module_& m) {
  nb::class_<PointData>(m, "Points", "Points in a tree of boxes. Private: see poise.goals.postures.style_frames.")
      .def("__init__", make_points, nb::arg("points"))
      .def("find", find, nb::arg("place"), nb::arg("many"));
  m.def("gaussian_of", gaussian_of, nb::arg("x"), nb::arg("rows"), nb::arg("far"), nb::arg("least"), nb::arg("share"));
}

}  // namespace poise

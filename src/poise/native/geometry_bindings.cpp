// geometry_bindings.cpp: small pieces of the kernels' geometry, for Python that prepares problems and must agree with them.
#define NO_IMPORT_ARRAY
#include "kernels/limits.h"
#include "solver_bindings.h"

namespace poise {
namespace {

Array as_points(nb::handle x, const char* name) {
  Array points = as_array<double>(x, name);
  if (points.ndim() != 2 || points.dim(1) != 3)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(points) + "; it must be (n, 3).");
  return points;
}

// the least distances between n segments and n others, (n,)
NumpyArray segment_distances(nb::handle a0, nb::handle a1, nb::handle b0, nb::handle b1) {
  const Array ends[4] = {as_points(a0, "a0"), as_points(a1, "a1"), as_points(b0, "b0"), as_points(b1, "b1")};
  npy_intp n = ends[0].dim(0);
  for (const Array& points : ends) {
    if (points.dim(0) != n) refuse("ShapeMismatch", "segments must be as many on both sides.");
  }
  Array out(PyArray_SimpleNew(1, &n, NPY_DOUBLE));
  for (npy_intp i = 0; i < n; ++i) {
    Contact<double> at;
    nearest_of_segments(ends[0].data<double>() + 3 * i, ends[1].data<double>() + 3 * i, ends[2].data<double>() + 3 * i,
                        ends[3].data<double>() + 3 * i, at);
    out.data<double>()[i] = at.distance;
  }
  return out.release();
}

}  // namespace

void bind_geometry(nb::module_& m) {
  m.def("segment_distances", segment_distances, nb::arg("a0"), nb::arg("a1"), nb::arg("b0"), nb::arg("b1"),
        "Return the least distances between segments a0 a1 and b0 b1, (n, 3) each, points included [m].");
}

}  // namespace poise

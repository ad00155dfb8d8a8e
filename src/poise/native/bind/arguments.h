// arguments.h: checks of a caller's arguments: frames by name, rows of numbers, points. Errors name the argument.
#pragma once
#include <cmath>
#include <utility>

#include "bind/arrays.h"
#include "kernels/body/kinematics.h"
#include "memory/body_data.h"

namespace poise {

inline int frame_of(const Body& body, nb::handle frame) {
  nb::object held;
  if (!PyUnicode_Check(frame.ptr())) {
    if (frame.is_none() || !nb::hasattr(frame, "name")) {
      refuse("InvalidValue", "frame must be a name, not " + nb::cast<std::string>(nb::repr(frame)) + ".");
    }
    held = frame.attr("name");
    frame = held;
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(frame.ptr(), &size);
  if (!text) PyErr_Clear();  // an incomplete character: no frame has such a name
  const auto found =
      text ? body.frame_index.find(std::string_view(text, static_cast<std::size_t>(size))) : body.frame_index.end();
  if (found != body.frame_index.end()) return found->second;
  nb::list names;
  for (const auto& entry : body.frame_index) names.append(entry.first);
  nb::object error = nb::module_::import_("poise.errors").attr("name_not_found")("frame", frame, names);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

// rows of `width` finite numbers, with nonzero quaternions
template <class T> Array rows_of(nb::handle x, int width, const char* name, const char* meaning) {
  Array a = as_array<T>(x, name);
  if (a.ndim() == 0 || a.dim(a.ndim() - 1) != width) {
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(a) + "; its last axis must be " +
                                std::to_string(width) + " (" + meaning + ").");
  }
  require_finite(a.data<T>(), a.size(), width, name);
  return a;
}

template <class T> Array configurations(const Body& body, nb::handle q, const char* name = "q") {
  Array a = rows_of<T>(q, body.n_q, name, "model.nq");
  const npy_intp rows = body.n_q ? a.size() / body.n_q : 0;
  for (const Coordinate& c : body.coordinates) {
    if (!c.quaternion) continue;
    for (npy_intp r = 0; r < rows; ++r) {
      const T* x = a.data<T>() + r * body.n_q + c.q_index;
      const T n2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
      if (n2 > T(1e-12) && n2 < T(1e12)) continue;
      refuse("InvalidValue", std::string(name) + "[" + std::to_string(c.q_index) + ":" + std::to_string(c.q_index + 4) +
                                 "] is a quaternion of length " + std::to_string(std::sqrt(n2)) +
                                 "; it must be about 1 (w x y z).");
    }
  }
  return a;
}

inline npy_intp row_count(const Array& a) {
  npy_intp n = 1;
  for (int i = 0; i + 1 < a.ndim(); ++i) n *= a.dim(i);
  return n;
}

// b with the leading shape of a, both broadcast if necessary
template <class T> std::pair<Array, Array> broadcast_rows(Array a, Array b) {
  const int na = a.ndim() - 1, nb_ = b.ndim() - 1;
  bool same = na == nb_;
  for (int i = 0; same && i < na; ++i) same = a.dim(i) == b.dim(i);
  if (same) return {std::move(a), std::move(b)};
  nb::object pair = nb::module_::import_("poise.native").attr("broadcast_rows")(a.release(), b.release());
  return {as_array<T>(pair[0], "q"), as_array<T>(pair[1], "v")};
}

struct Point {
  bool given = false;
  double f64[3] = {0, 0, 0};
  float f32[3] = {0, 0, 0};
  explicit Point(nb::handle point) {
    if (point.is_none()) return;
    const Array a = as_array<double>(point, "point");
    if (a.ndim() != 1 || a.dim(0) != 3) {
      refuse("ShapeMismatch",
             "point has shape " + shape_text(a) + "; it must be 3 numbers in the frame's coordinates.");
    }
    require_finite(a.data<double>(), 3, 3, "point");
    given = true;
    for (int i = 0; i < 3; ++i) f32[i] = static_cast<float>(f64[i] = a.data<double>()[i]);
  }
  template <class T> const T* data() const {
    if (!given) return nullptr;
    if constexpr (sizeof(T) == 8) {
      return f64;
    } else {
      return f32;
    }
  }
};

inline int reference_of(nb::handle reference) {
  if (PyUnicode_Check(reference.ptr())) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(reference.ptr(), &size);
    if (!text) PyErr_Clear();
    const std::string_view name(text ? text : "", static_cast<std::size_t>(size));
    if (name == "world") return WORLD;
    if (name == "body") return LOCAL;
    if (name == "spatial") return SPATIAL;
  }
  refuse("InvalidValue",
         "reference must be 'world', 'body' or 'spatial', not " + nb::cast<std::string>(nb::repr(reference)) + ".");
}

// f<double> or f<float>, by the dtype of q
template <class F> NumpyArray by_type(nb::handle q, const F& f) { return is_float32(q) ? f(float{}) : f(double{}); }

}  // namespace poise

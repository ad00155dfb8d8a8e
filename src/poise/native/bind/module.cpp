// module.cpp: bindings of the kernels. Lookup, checks and the output array are handled in one native call; misuse
// raises poise.errors with the argument's name; loops run without the GIL.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <cstring>

#include "bind/arguments.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/parallel.h"
#include "memory/body_data.h"
#include "run/level_names.h"
#include "run/ops.h"

namespace poise {
namespace {

Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

template <class T> T* row(const Array& a, std::size_t first, int width) {
  return a.data<T>() + first * static_cast<std::size_t>(width);
}

template <class T> const Ops<T>& table() {
  if constexpr (sizeof(T) == 8) {
    return ops().f64;
  } else {
    return ops().f32;
  }
}

// ---------------------------------------------------------------------------------------------- building

// Returns the special rotation that R equals up to rounding: angles such as pi / 2 leave 1e-16 in place of zero.
template <class T> int turn_of(const T* R) {
  constexpr int turns[5][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                               {0, 1, 0, 0, 0, 1, 1, 0, 0},
                               {0, 0, 1, 1, 0, 0, 0, 1, 0},
                               {1, 0, 0, 0, 0, -1, 0, 1, 0},
                               {1, 0, 0, 0, 0, 1, 0, -1, 0}};
  for (int turn = NO_TURN; turn <= QUARTER_X_BACK; ++turn) {
    bool same = true;
    for (int k = 0; k < 9; ++k) same = same && absolute(R[k] - T(turns[turn][k])) < T(2e-16);
    if (same) return turn;
  }
  return GENERAL_TURN;
}

// the curves of all paths: 29 numbers per piece, its start and its polynomials as in curve.h
std::shared_ptr<const CurveStore> read_curves(const nb::list& list) {
  auto store = std::make_shared<CurveStore>();
  for (nb::handle entry : list) {
    const auto curve = nb::cast<nb::tuple>(entry);
    const Array table = as_array<double>(curve[0], "curve");
    const auto n = static_cast<std::size_t>(table.size()) / 29;
    std::vector<CurvePiece> pieces(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = table.data<double>() + 29 * i;
      pieces[i].start = row[0];
      for (std::size_t k = 0; k < 28; ++k) pieces[i].c[k / 4][k % 4] = row[1 + k];
    }
    store->pieces.push_back(std::move(pieces));
    store->curves.push_back({nullptr, static_cast<int>(n), nb::cast<double>(curve[1]), nb::cast<bool>(curve[2])});
  }
  for (std::size_t i = 0; i < store->curves.size(); ++i) store->curves[i].pieces = store->pieces[i].data();
  return store;
}

template <class T> void fill(BodyArrays<T>& to, const Body& shape, const nb::dict& table) {
  const auto doubles = [&](const char* key) { return as_array<double>(table[key], key); };
  const Array R = doubles("R"), p = doubles("p"), numbers = doubles("numbers"), mass = doubles("mass");
  const Array frame_R = doubles("frame_R"), frame_p = doubles("frame_p");
  const auto ints = nb::cast<std::vector<std::vector<int>>>(table["ints"]);
  const auto frame_primitive = nb::cast<std::vector<int>>(table["frame_primitive"]);
  const auto curve_index = nb::cast<std::vector<int>>(table["curve_index"]);
  const std::size_t n = ints.size();
  to.primitives.resize(n);
  to.masses.resize(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    Primitive<T>& b = to.primitives[i];
    b.kind = ints[i][0];
    b.parent = ints[i][1];
    b.subtree_end = ints[i][2];
    b.q_index = ints[i][3];
    b.v_index = ints[i][4];
    b.gain = static_cast<T>(numbers.data<double>()[3 * i]);
    b.bias = static_cast<T>(numbers.data<double>()[3 * i + 1]);
    b.pitch = static_cast<T>(numbers.data<double>()[3 * i + 2]);
    for (std::size_t k = 0; k < 9; ++k) b.R[k] = static_cast<T>(R.data<double>()[9 * i + k]);
    for (std::size_t k = 0; k < 3; ++k) b.p[k] = static_cast<T>(p.data<double>()[3 * i + k]);
    b.turn = turn_of(b.R);
    b.scaled = b.kind == SCALE || (b.parent >= 0 && to.primitives[static_cast<std::size_t>(b.parent)].scaled);
    b.curve = curve_index[i] < 0 ? nullptr : &shape.curves->curves[static_cast<std::size_t>(curve_index[i])];
  }
  std::vector<bool> moved(static_cast<std::size_t>(shape.n_v), false);
  for (const Primitive<T>& b : to.primitives) {
    to.shared_columns = to.shared_columns || moved[static_cast<std::size_t>(b.v_index)];
    moved[static_cast<std::size_t>(b.v_index)] = true;
  }
  for (std::size_t i = 0; i <= n; ++i) {
    to.masses[i].mass = static_cast<T>(mass.data<double>()[4 * i]);
    for (std::size_t k = 0; k < 3; ++k) to.masses[i].moment[k] = static_cast<T>(mass.data<double>()[4 * i + 1 + k]);
  }
  to.frames.resize(frame_primitive.size());
  for (std::size_t i = 0; i < frame_primitive.size(); ++i) {
    FrameData<T>& f = to.frames[i];
    f.primitive = frame_primitive[i];
    f.scaled = f.primitive >= 0 && to.primitives[static_cast<std::size_t>(f.primitive)].scaled;
    for (std::size_t k = 0; k < 9; ++k) f.R[k] = static_cast<T>(frame_R.data<double>()[9 * i + k]);
    for (std::size_t k = 0; k < 3; ++k) f.p[k] = static_cast<T>(frame_p.data<double>()[3 * i + k]);
  }
}

void make_body(Body* body, const AnyDict& table) {
  new (body) Body();
  body->n_q = nb::cast<int>(table["nq"]);
  body->n_v = nb::cast<int>(table["nv"]);
  body->curves = read_curves(nb::cast<nb::list>(table["curves"]));
  fill(body->f64, *body, table);
  fill(body->f32, *body, table);
  for (const auto& c : nb::cast<std::vector<std::vector<int>>>(table["coordinates"])) {
    body->coordinates.push_back({c[0], c[1], c[2]});
  }
  const auto names = nb::cast<std::vector<std::string>>(table["frame_names"]);
  for (std::size_t i = 0; i < names.size(); ++i) body->frame_index.emplace(names[i], static_cast<int>(i));
  for (const auto& [name, index] : nb::cast<std::vector<std::pair<std::string, int>>>(table["aliases"])) {
    body->frame_index.emplace(name, index);
  }
}

// ---------------------------------------------------------------------------------------------- operations

NumpyArray fk(const Body& body, nb::handle q, nb::handle frame) {
  return by_type(q, [&](auto zero) {
    using T = decltype(zero);
    const BodyArrays<T>& arrays = body.arrays<T>();
    const BodyView<T> view = arrays.view(body.n_q, body.n_v);
    const int index = frame.is_none() ? -1 : frame_of(body, frame);
    const Array x = configurations<T>(body, q);
    const npy_intp rows = row_count(x);
    if (index >= 0) {
      Array out = new_array<T>(x, {4, 4});
      for_rows(rows, [&](std::size_t first, std::size_t n) {
        table<T>().frame_fk(view, arrays.frames[static_cast<std::size_t>(index)], row<T>(x, first, body.n_q), n,
                            row<T>(out, first, 16), scratch());
      });
      return out.release();
    }
    const int n = static_cast<int>(arrays.frames.size());
    Array out = new_array<T>(x, {n, 4, 4});
    for_rows(rows, [&](std::size_t first, std::size_t count) {
      table<T>().all_fk(view, arrays.frames.data(), n, row<T>(x, first, body.n_q), count, row<T>(out, first, 16 * n),
                        scratch());
    });
    return out.release();
  });
}

NumpyArray jacobian(const Body& body, nb::handle q, nb::handle frame, nb::handle point, nb::handle reference) {
  return by_type(q, [&](auto zero) {
    using T = decltype(zero);
    const BodyArrays<T>& arrays = body.arrays<T>();
    const int index = frame_of(body, frame), ref = reference_of(reference);
    const Point at(point);
    const Array x = configurations<T>(body, q);
    const npy_intp rows = row_count(x);
    Array out = new_array<T>(x, {6, body.n_v});
    for_rows(rows, [&](std::size_t first, std::size_t n) {
      table<T>().jacobian(arrays.view(body.n_q, body.n_v), arrays.frames[static_cast<std::size_t>(index)], at.data<T>(),
                          ref, row<T>(x, first, body.n_q), n, row<T>(out, first, 6 * body.n_v), scratch());
    });
    return out.release();
  });
}

NumpyArray jacobian_dot(const Body& body, nb::handle q, nb::handle v, nb::handle frame, nb::handle point,
                        nb::handle reference) {
  return by_type(q, [&](auto zero) {
    using T = decltype(zero);
    const BodyArrays<T>& arrays = body.arrays<T>();
    const int index = frame_of(body, frame), ref = reference_of(reference);
    const Point at(point);
    const auto [x, rate] = broadcast_rows<T>(configurations<T>(body, q), rows_of<T>(v, body.n_v, "v", "model.nv"));
    const npy_intp rows = row_count(x);
    Array out = new_array<T>(x, {6, body.n_v});
    const Array &q_rows = x, &v_rows = rate;
    for_rows(rows, [&](std::size_t first, std::size_t n) {
      table<T>().jacobian_dot(arrays.view(body.n_q, body.n_v), arrays.frames[static_cast<std::size_t>(index)],
                              at.data<T>(), ref, row<T>(q_rows, first, body.n_q), row<T>(v_rows, first, body.n_v), n,
                              row<T>(out, first, 6 * body.n_v), scratch());
    });
    return out.release();
  });
}

NumpyArray hessian(const Body& body, nb::handle q, nb::handle frame) {
  return by_type(q, [&](auto zero) {
    using T = decltype(zero);
    const BodyArrays<T>& arrays = body.arrays<T>();
    const int index = frame_of(body, frame);
    const Array x = configurations<T>(body, q);
    const npy_intp rows = row_count(x);
    Array out = new_array<T>(x, {6, body.n_v, body.n_v});
    for_rows(rows, [&](std::size_t first, std::size_t n) {
      table<T>().hessian(arrays.view(body.n_q, body.n_v), arrays.frames[static_cast<std::size_t>(index)],
                         row<T>(x, first, body.n_q), n, row<T>(out, first, 6 * body.n_v * body.n_v), scratch());
    });
    return out.release();
  });
}

NumpyArray center(const Body& body, nb::handle q, bool jacobian) {
  return by_type(q, [&](auto zero) {
    using T = decltype(zero);
    const BodyView<T> view = body.arrays<T>().view(body.n_q, body.n_v);
    const Array x = configurations<T>(body, q);
    const npy_intp rows = row_count(x);
    Array out = jacobian ? new_array<T>(x, {3, body.n_v}) : new_array<T>(x, {3});
    const auto run = jacobian ? table<T>().center_of_mass_jacobian : table<T>().center_of_mass;
    for_rows(rows, [&](std::size_t first, std::size_t n) {
      run(view, row<T>(x, first, body.n_q), n, row<T>(out, first, jacobian ? 3 * body.n_v : 3), scratch());
    });
    return out.release();
  });
}

// raises an error if the length of a rotation in a step overflows
template <class T> void require_turns(const Body& body, const T* step, npy_intp rows) {
  for (const Coordinate& c : body.coordinates) {
    if (!c.quaternion) continue;
    for (npy_intp r = 0; r < rows; ++r) {
      const T* w = step + r * body.n_v + c.v_index;
      if (std::isfinite(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])) continue;
      refuse("InvalidValue", "dq[" + std::to_string(c.v_index) + ":" + std::to_string(c.v_index + 3) +
                                 "] is too large a turn: its length overflows.");
    }
  }
}

NumpyArray integrate_q(const Body& body, nb::handle q, nb::handle dq) {
  return by_type(q, [&](auto zero) {
    using T = decltype(zero);
    const auto [x, step] = broadcast_rows<T>(configurations<T>(body, q), rows_of<T>(dq, body.n_v, "dq", "model.nv"));
    const npy_intp rows = row_count(x);
    require_turns(body, step.template data<T>(), rows);
    Array out = new_array<T>(x, {body.n_q});
    const T *x_data = x.template data<T>(), *step_data = step.template data<T>();
    for_rows(rows, [&](std::size_t first, std::size_t n) {
      table<T>().integrate(
          body.arrays<T>().view(body.n_q, body.n_v), body.coordinates.data(), static_cast<int>(body.coordinates.size()),
          x_data + first * static_cast<std::size_t>(body.n_q), step_data + first * static_cast<std::size_t>(body.n_v),
          n, row<T>(out, first, body.n_q), scratch());
    });
    return out.release();
  });
}

NumpyArray difference_q(const Body& body, nb::handle q0, nb::handle q1) {
  return by_type(q0, [&](auto zero) {
    using T = decltype(zero);
    const auto [a, b] = broadcast_rows<T>(configurations<T>(body, q0, "q0"), configurations<T>(body, q1, "q1"));
    const npy_intp rows = row_count(a);
    Array out = new_array<T>(a, {body.n_v});
    const T *a_data = a.template data<T>(), *b_data = b.template data<T>();
    for_rows(rows, [&](std::size_t first, std::size_t n) {
      table<T>().difference(
          body.arrays<T>().view(body.n_q, body.n_v), body.coordinates.data(), static_cast<int>(body.coordinates.size()),
          a_data + first * static_cast<std::size_t>(body.n_q), b_data + first * static_cast<std::size_t>(body.n_q), n,
          row<T>(out, first, body.n_v), scratch());
    });
    return out.release();
  });
}

// ---------------------------------------------------------------------------------------------- rotations by themselves

template <SpatialOps::Map SpatialOps::* map, int n_in, int n_out> NumpyArray spatial_rows(nb::handle x) {
  const Array in = rows_of<double>(x, n_in, "rows", "numbers a row");
  Array out = new_array<double>(in, {n_out});
  (ops().spatial.*map)(in.data<double>(), static_cast<std::size_t>(row_count(in)), out.data<double>(), scratch());
  return out.release();
}

// The unit quaternion and the translation of one 4x4 whose entries are within `far` of a transform; None otherwise, or
// if it is not a plain array. Python then converts it or raises an error.
nb::object transform_of_matrix(nb::handle x, double far) {
  if (!PyArray_CheckExact(x.ptr())) return nb::none();
  auto* array = reinterpret_cast<PyArrayObject*>(x.ptr());
  const bool plain = PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) == 2;
  if (!plain || PyArray_DIM(array, 0) != 4 || PyArray_DIM(array, 1) != 4) return nb::none();
  const auto* T = static_cast<const double*>(PyArray_DATA(array));
  const double most[4] = {T[12], T[13], T[14], T[15] - 1.0};
  bool good = true;
  for (double off : most) good = good && absolute(off) <= 1e-9;
  double R[9], turned[9];
  npy_intp four = 4, three = 3;
  Array wxyz(PyArray_SimpleNew(1, &four, NPY_DOUBLE)), p(PyArray_SimpleNew(1, &three, NPY_DOUBLE));
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) R[3 * r + c] = T[4 * r + c];
    p.data<double>()[r] = T[4 * r + 3];
    good = good && T[4 * r + 3] - T[4 * r + 3] == 0.0;
  }
  ops().spatial.quaternion_of_matrix(R, 1, wxyz.data<double>(), scratch());
  ops().spatial.matrix_of_quaternion(wxyz.data<double>(), 1, turned, scratch());
  for (int k = 0; k < 9; ++k) good = good && absolute(turned[k] - R[k]) <= far;
  if (!good) return nb::none();
  return nb::make_tuple(wxyz.release(), p.release());
}

}  // namespace
}  // namespace poise

NB_MODULE(_core, m) {
  using namespace poise;
  nb::set_leak_warnings(false);  // models in caches that exist when Python exits are not leaks
  if (_import_array() < 0) throw nb::python_error();
  m.doc() = "The native kernels. Private: use poise.Model and poise.spatial.";

  nb::class_<Body>(m, "Body", "A body as the kernels see it: primitives, frames, masses.")
      .def("__init__", make_body, nb::arg("table"))
      .def("fk", fk, nb::arg("q").none(), nb::arg("frame").none())
      .def("jacobian", jacobian, nb::arg("q").none(), nb::arg("frame").none(), nb::arg("point").none(),
           nb::arg("reference").none())
      .def("jacobian_dot", jacobian_dot, nb::arg("q").none(), nb::arg("v").none(), nb::arg("frame").none(),
           nb::arg("point").none(), nb::arg("reference").none())
      .def("hessian", hessian, nb::arg("q").none(), nb::arg("frame").none())
      .def(
          "center_of_mass", [](const Body& b, nb::handle q) { return center(b, q, false); }, nb::arg("q").none())
      .def(
          "center_of_mass_jacobian", [](const Body& b, nb::handle q) { return center(b, q, true); },
          nb::arg("q").none())
      .def("integrate", integrate_q, nb::arg("q").none(), nb::arg("dq").none())
      .def("difference", difference_q, nb::arg("q0").none(), nb::arg("q1").none());

  m.def("matrix_of_quaternion", spatial_rows<&SpatialOps::matrix_of_quaternion, 4, 9>, nb::arg("rows"));
  m.def("quaternion_of_matrix", spatial_rows<&SpatialOps::quaternion_of_matrix, 9, 4>, nb::arg("rows"));
  m.def("log_of_quaternion", spatial_rows<&SpatialOps::log_of_quaternion, 4, 3>, nb::arg("rows"));
  m.def("quaternion_of_log", spatial_rows<&SpatialOps::quaternion_of_log, 3, 4>, nb::arg("rows"));
  m.def("exp_of_twist", spatial_rows<&SpatialOps::exp_of_twist, 6, 7>, nb::arg("rows"));
  m.def("log_of_transform", spatial_rows<&SpatialOps::log_of_transform, 7, 6>, nb::arg("rows"));
  m.def("quaternion_product", spatial_rows<&SpatialOps::quaternion_product, 8, 4>, nb::arg("rows"));
  m.def("rotate_vector", spatial_rows<&SpatialOps::rotate_vector, 7, 3>, nb::arg("rows"));

  m.def("transform_of_matrix", transform_of_matrix, nb::arg("matrix"), nb::arg("far"),
        nb::sig("def transform_of_matrix(matrix: object, far: float) -> typing.Any"));
  m.def("copy_targets", copy_targets, nb::arg("targets"),
        nb::sig("def copy_targets(targets: dict[str, typing.Any]) -> dict[str, typing.Any]"));

  bind_codes(m);
  bind_solver(m);
  bind_batch(m);
  bind_bytes(m);
  bind_gpu(m);
  bind_geometry(m);
  bind_hulls(m);
  bind_family(m);
  bind_general(m);
  bind_clips(m);
  bind_charts(m);
  bind_nearest(m);
  m.def("level", [] { return std::string(ops().level); }, "The instruction level in use.");
  m.def("levels", levels, "The instruction levels of this build that the machine runs, lowest first.");
  m.def("set_threads", set_threads, nb::arg("count"),
        "How many threads a large batch may use; 0: as many as there are cores.");
  m.def("choose_level", [](const std::string& name) { choose_level(name.c_str()); }, nb::arg("name"));
}

// ops.cpp: loops over a batch. Compiled once per instruction level (POISE_LEVEL names it); the kernels do the work.
#include "ops.h"

#include <type_traits>

#include "kernels/manifold.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// rows of numbers that a kernel reads or writes, one row per problem
template <class T> struct Rows {
  T* data;
  int width;
};

// Runs `kernel(in, out, work)` for every row of the batch. A few rows run one by one, straight on the caller's memory;
// many are transposed into packs, one lane a problem, the last pack filled up by repeating its last row.
template <class T, int n_in, class Kernel>
void for_each_problem(const Rows<const T> (&in)[n_in], Rows<T> out, int work, std::size_t batch, Scratch& scratch,
                      const Kernel& kernel) {
  using P = NativePack<T>;
  constexpr std::size_t lanes = ScalarTraits<P>::lanes;
  if (batch < 4) {
    T* workspace = static_cast<T*>(scratch.reserve(sizeof(T) * static_cast<std::size_t>(work + 1)));
    for (std::size_t b = 0; b < batch; ++b) {
      const T* rows[n_in];
      for (int k = 0; k < n_in; ++k) rows[k] = in[k].data + b * static_cast<std::size_t>(in[k].width);
      kernel(rows, out.data + b * static_cast<std::size_t>(out.width), workspace);
    }
    return;
  }
  std::size_t total = static_cast<std::size_t>(out.width) + static_cast<std::size_t>(work);
  for (int k = 0; k < n_in; ++k) total += static_cast<std::size_t>(in[k].width);
  P* memory = static_cast<P*>(scratch.reserve(sizeof(P) * (total + 1)));
  P* packed[n_in];
  P* next = memory;
  for (int k = 0; k < n_in; ++k) {
    packed[k] = next;
    next += in[k].width;
  }
  P* packed_out = next;
  P* workspace = next + out.width;
  for (std::size_t b = 0; b < batch; b += lanes) {
    const std::size_t used = batch - b < lanes ? batch - b : lanes;
    for (int k = 0; k < n_in; ++k) {
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::size_t row = b + (l < used ? l : used - 1);
        const T* source = in[k].data + row * static_cast<std::size_t>(in[k].width);
        for (int c = 0; c < in[k].width; ++c) packed[k][c].set(static_cast<int>(l), source[c]);
      }
    }
    kernel(const_cast<const P* const*>(packed), packed_out, workspace);
    for (std::size_t l = 0; l < used; ++l) {
      T* target = out.data + (b + l) * static_cast<std::size_t>(out.width);
      for (int c = 0; c < out.width; ++c) target[c] = packed_out[c].lane(static_cast<int>(l));
    }
  }
}

template <class S> void write_transform(const S* R, const S* p, S* out) {
  using T = real_t<S>;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out[4 * r + c] = R[3 * r + c];
    out[4 * r + 3] = p[r];
  }
  for (int c = 0; c < 3; ++c) out[12 + c] = S(T(0));
  out[15] = S(T(1));
}

template <class P> using scalar_of = std::remove_cv_t<std::remove_pointer_t<P>>;

template <class T>
void frame_fk_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* q, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}};
  for_each_problem<T>(in, Rows<T>{out, 16}, 0, batch, s, [&](auto rows, auto* result, auto*) {
    using S = scalar_of<decltype(result)>;
    S R[9], p[3];
    frame_fk(body, frame, rows[0], R, p);
    write_transform(R, p, result);
  });
}

template <class T>
void all_fk_rows(const BodyView<T>& body, const FrameData<T>* frames, int n_frames, const T* q, std::size_t batch, T* out,
                 Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}};
  for_each_problem<T>(in, Rows<T>{out, 16 * n_frames}, 12 * body.count(), batch, s, [&](auto rows, auto* result, auto* work) {
    using S = scalar_of<decltype(result)>;
    place_all(body, rows[0], work);
    for (int f = 0; f < n_frames; ++f) {
      S R[9], p[3];
      frame_from(frames[f], work, R, p);
      write_transform(R, p, result + 16 * f);
    }
  });
}

template <class T>
void jacobian_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* point, int reference, const T* q,
                   std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}};
  for_each_problem<T>(in, Rows<T>{out, 6 * body.n_v}, 0, batch, s, [&](auto rows, auto* result, auto*) {
    frame_jacobian(body, frame, point, reference, rows[0], body.n_v, result);
  });
}

template <class T>
void jacobian_dot_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* point, int reference, const T* q,
                       const T* v, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}, {v, body.n_v}};
  for_each_problem<T>(in, Rows<T>{out, 6 * body.n_v}, 0, batch, s, [&](auto rows, auto* result, auto*) {
    frame_jacobian_dot(body, frame, point, reference, rows[0], rows[1], body.n_v, result);
  });
}

// always one by one: the result is quadratic in the joints, and packs of it would not fit a cache
template <class T>
void hessian_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* q, std::size_t batch, T* out, Scratch& s) {
  const std::size_t n = static_cast<std::size_t>(body.n_v);
  // a mimic joint adds a column of its own: count primitives, three columns for a ball
  auto* path = static_cast<PathColumn<T>*>(s.reserve(sizeof(PathColumn<T>) * 3 * static_cast<std::size_t>(body.count() + 1)));
  for (std::size_t b = 0; b < batch; ++b) {
    frame_hessian(body, frame, q + b * static_cast<std::size_t>(body.n_q), body.n_v, path, out + b * 6 * n * n);
  }
}

template <class T>
void center_rows(const BodyView<T>& body, const T* q, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}};
  const int n = body.count();
  for_each_problem<T>(in, Rows<T>{out, 3}, 16 * n, batch, s, [&](auto rows, auto* result, auto* work) {
    using S = scalar_of<decltype(result)>;
    center_of_mass(body, rows[0], body.n_v, work, work + 12 * n, result, static_cast<S*>(nullptr));
  });
}

template <class T>
void center_jacobian_rows(const BodyView<T>& body, const T* q, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}};
  const int n = body.count();
  for_each_problem<T>(in, Rows<T>{out, 3 * body.n_v}, 16 * n, batch, s, [&](auto rows, auto* result, auto* work) {
    using S = scalar_of<decltype(result)>;
    S center[3];
    center_of_mass(body, rows[0], body.n_v, work, work + 12 * n, center, result);
  });
}

template <class T>
void integrate_rows(const BodyView<T>& body, const Coordinate* coordinates, int n, const T* q, const T* dq,
                    std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q}, {dq, body.n_v}};
  for_each_problem<T>(in, Rows<T>{out, body.n_q}, 0, batch, s, [&](auto rows, auto* result, auto*) {
    integrate(coordinates, n, rows[0], rows[1], result);
  });
}

template <class T>
void difference_rows(const BodyView<T>& body, const Coordinate* coordinates, int n, const T* q0, const T* q1,
                     std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q0, body.n_q}, {q1, body.n_q}};
  for_each_problem<T>(in, Rows<T>{out, body.n_v}, 0, batch, s, [&](auto rows, auto* result, auto*) {
    difference(coordinates, n, rows[0], rows[1], result);
  });
}

template <class T> constexpr Ops<T> body_ops() {
  return {frame_fk_rows<T>,  all_fk_rows<T>,          jacobian_rows<T>,  jacobian_dot_rows<T>, hessian_rows<T>,
          center_rows<T>,    center_jacobian_rows<T>, integrate_rows<T>, difference_rows<T>};
}

// ---------------------------------------------------------------------------------------------- spatial

template <int n_in, int n_out, class Kernel>
void map_rows(const double* in, std::size_t batch, double* out, Scratch& s, const Kernel& kernel) {
  const Rows<const double> rows[] = {{in, n_in}};
  for_each_problem<double>(rows, Rows<double>{out, n_out}, 0, batch, s,
                           [&](auto r, auto* result, auto*) { kernel(r[0], result); });
}

constexpr SpatialOps spatial_ops() {
  return {
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<4, 9>(in, n, out, s, [](const auto* q, auto* R) { matrix_of_quaternion(q, R); });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<9, 4>(in, n, out, s, [](const auto* R, auto* q) {
          using S = scalar_of<decltype(q)>;
          direction_of_matrix(R, q);
          const S sign = select(q[0] < S(0.0), S(-1.0), S(1.0));
          for (int k = 0; k < 4; ++k) q[k] = q[k] * sign;
          quaternion_normalize(q);
        });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<4, 3>(in, n, out, s, [](const auto* q, auto* w) { log_of_quaternion(q, w); });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<3, 4>(in, n, out, s, [](const auto* w, auto* q) { quaternion_of_log(w, q); });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<6, 7>(in, n, out, s, [](const auto* twist, auto* x) { exp_of_twist(twist, x, x + 4); });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<7, 6>(in, n, out, s, [](const auto* x, auto* twist) {
          log_of_quaternion(x, twist + 3);
          translation_log(twist + 3, x + 4, twist);
        });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<8, 4>(in, n, out, s, [](const auto* ab, auto* q) {
          quaternion_multiply(ab, ab + 4, q);
          quaternion_normalize(q);
        });
      },
      [](const double* in, std::size_t n, double* out, Scratch& s) {
        map_rows<7, 3>(in, n, out, s, [](const auto* x, auto* v) {
          using S = scalar_of<decltype(v)>;
          S R[9];
          matrix_of_quaternion(x, R);
          rotate(R, x + 4, v);
        });
      },
  };
}

}  // namespace

#define POISE_TEXT_OF(x) #x
#define POISE_TEXT(x) POISE_TEXT_OF(x)
extern const OpsTable table;
const OpsTable table = {POISE_TEXT(POISE_LEVEL), body_ops<double>(), body_ops<float>(), spatial_ops()};

}  // namespace POISE_LEVEL
}  // namespace poise

// ops.cpp: loops over a batch. Compiled once per instruction level (POISE_LEVEL names it); the kernels do the work.
#include "run/ops.h"

#include <type_traits>

#include "kernels/body/derivatives.h"
#include "kernels/body/manifold.h"
#include "kernels/body/mass.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// Rows of numbers that a kernel reads or writes, one row per problem. A kernel's number c is at `places[c]` of the row,
// or at c without places, so that a kernel may use few numbers of a long row.
template <class T> struct Rows {
  T* data;
  int stride;
  int width;
  const int* places = nullptr;

  T* row(std::size_t b) const { return data + b * static_cast<std::size_t>(stride); }
  int place(int c) const { return places ? places[c] : c; }
};

template <class T, class P> void gather(const Rows<const T>& from, std::size_t first, std::size_t used, P* to) {
  constexpr int lanes = ScalarTraits<P>::lanes;
  for (int l = 0; l < lanes; ++l) {
    const T* row = from.row(first + (static_cast<std::size_t>(l) < used ? static_cast<std::size_t>(l) : used - 1));
    for (int c = 0; c < from.width; ++c) to[c].set(l, row[from.place(c)]);
  }
}

template <class T, class P> void scatter(const P* from, std::size_t first, std::size_t used, const Rows<T>& to) {
  for (std::size_t l = 0; l < used; ++l) {
    T* row = to.row(first + l);
    for (int c = 0; c < to.width; ++c) row[to.place(c)] = from[c].lane(static_cast<int>(l));
  }
}

// Runs `kernel(in, out, work)` on packs, one problem per lane; the last pack is filled by repeating its last row.
// `memory` has the size given by `pack_room`.
template <class T, int n_in> std::size_t pack_room(const Rows<const T> (&in)[n_in], const Rows<T>& out, int work) {
  std::size_t total = static_cast<std::size_t>(out.width) + static_cast<std::size_t>(work) + 1;
  for (int k = 0; k < n_in; ++k) total += static_cast<std::size_t>(in[k].width);
  return sizeof(NativePack<T>) * total;
}

template <class T, int n_in, class Kernel> void run_packs(const Rows<const T> (&in)[n_in], const Rows<T>& out,
                                                          std::size_t batch, void* memory, const Kernel& kernel) {
  using P = NativePack<T>;
  constexpr std::size_t lanes = ScalarTraits<P>::lanes;
  P* packed[n_in];
  P* next = static_cast<P*>(memory);
  for (int k = 0; k < n_in; ++k) {
    packed[k] = next;
    next += in[k].width;
  }
  for (std::size_t b = 0; b < batch; b += lanes) {
    const std::size_t used = batch - b < lanes ? batch - b : lanes;
    for (int k = 0; k < n_in; ++k) gather(in[k], b, used, packed[k]);
    kernel(const_cast<const P* const*>(packed), next, next + out.width);
    scatter(next, b, used, out);
  }
}

constexpr std::size_t few = 4;  // below this number, packs are not worthwhile

// Runs `kernel(in, out, work)` one by one, directly on the caller's memory.
template <class T, int n_in, class Kernel> void run_singly(const Rows<const T> (&in)[n_in], const Rows<T>& out,
                                                           int work, std::size_t batch, Scratch& scratch,
                                                           const Kernel& kernel) {
  T* workspace = static_cast<T*>(scratch.reserve(sizeof(T) * static_cast<std::size_t>(work + 1)));
  for (std::size_t b = 0; b < batch; ++b) {
    const T* rows[n_in];
    for (int k = 0; k < n_in; ++k) rows[k] = in[k].row(b);
    kernel(rows, out.row(b), workspace);
  }
}

// Runs `kernel(in, out, work)` for every row: a few one by one, many in packs.
template <class T, int n_in, class Kernel> void for_each_problem(const Rows<const T> (&in)[n_in], const Rows<T>& out,
                                                                 int work, std::size_t batch, Scratch& scratch,
                                                                 const Kernel& kernel) {
  if (batch < few) return run_singly(in, out, work, batch, scratch, kernel);
  run_packs(in, out, batch, scratch.reserve(pack_room(in, out, work)), kernel);
}

// ---------------------------------------------------------------------------------------------- the way to one frame

// The joints between a frame and the root as a separate body, with consecutive coordinates, so that packs contain only
// the joints that the frame depends on. `q_places` and `v_places` are the indices in the rows of the whole body.
template <class T> struct Path {
  BodyView<T> body;
  FrameData<T> frame;
  const int* q_places;
  const int* v_places;
};

template <class T> std::size_t path_room(const BodyView<T>& body) {
  const auto n = static_cast<std::size_t>(body.count());
  return n * sizeof(Primitive<T>) +
         (5 * n + 2 * static_cast<std::size_t>(body.n_q) + 2 * static_cast<std::size_t>(body.n_v)) * sizeof(int) + 64;
}

// the index of `place` among the `n` places so far; appended if new
inline int number_of(int place, int* numbers, int* places, int& n) {
  if (numbers[place] < 0) {
    numbers[place] = n;
    places[n++] = place;
  }
  return numbers[place];
}

template <class T> Path<T> path_to(const BodyView<T>& body, const FrameData<T>& frame, void* memory) {
  auto* primitives = static_cast<Primitive<T>*>(memory);
  int* q_places = reinterpret_cast<int*>(primitives + body.count());
  int* v_places = q_places + body.n_q;
  int* q_numbers = v_places + body.n_v;
  int* v_numbers = q_numbers + body.n_q;
  for (int k = 0; k < body.n_q; ++k) q_numbers[k] = -1;
  for (int k = 0; k < body.n_v; ++k) v_numbers[k] = -1;
  int depth = 0, n_q = 0, n_v = 0;
  for (int i = frame.primitive; i >= 0; i = body[i].parent) ++depth;
  int at = depth;
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    Primitive<T>& b = primitives[--at];
    b = body[i];
    b.parent = at - 1;
    b.subtree_end = depth;
    const int wide_v = width_of(b.kind), wide_q = b.kind == BALL ? 4 : wide_v;
    const int q = b.q_index, v = b.v_index;
    b.q_index = number_of(q, q_numbers, q_places, n_q);
    b.v_index = number_of(v, v_numbers, v_places, n_v);
    for (int k = 1; k < wide_q; ++k) number_of(q + k, q_numbers, q_places, n_q);
    for (int k = 1; k < wide_v; ++k) number_of(v + k, v_numbers, v_places, n_v);
  }
  Path<T> path{{primitives, nullptr, depth, n_q, n_v, body.shared_columns}, frame, q_places, v_places};
  path.frame.primitive = depth - 1;
  return path;
}

// R and p as the upper three rows of a 4x4 matrix, and its last row
template <class S> void write_transform(const S* R, const S* p, S* out) {
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out[4 * r + c] = R[3 * r + c];
    out[4 * r + 3] = p[r];
  }
}

template <class T> void write_last_row(T* out) {
  out[12] = out[13] = out[14] = T(0);
  out[15] = T(1);
}

template <class P> using scalar_of = std::remove_cv_t<std::remove_pointer_t<P>>;

template <class T> void frame_fk_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* q, std::size_t batch,
                                      T* out, Scratch& s) {
  const Rows<T> result{out, 16, 12};
  for (std::size_t b = 0; b < batch; ++b) write_last_row(result.row(b));
  const auto kernel = [](const BodyView<T>& on, const FrameData<T>& at) {
    return [&](auto rows, auto* transform, auto*) {
      using S = scalar_of<decltype(transform)>;
      S R[9], p[3];
      frame_fk(on, at, rows[0], R, p);
      write_transform(R, p, transform);
    };
  };
  if (batch < few) {
    const Rows<const T> in[] = {{q, body.n_q, body.n_q}};
    run_singly<T>(in, result, 0, batch, s, kernel(body, frame));
    return;
  }
  const std::size_t room = (path_room(body) + 63) / 64 * 64;
  const Rows<const T> widest[] = {{q, body.n_q, body.n_q}};
  char* memory = static_cast<char*>(s.reserve(room + pack_room(widest, result, 0)));
  const Path<T> path = path_to(body, frame, memory);
  const Rows<const T> in[] = {{q, body.n_q, path.body.n_q, path.q_places}};
  run_packs(in, result, batch, memory + room, kernel(path.body, path.frame));
}

template <class T> void all_fk_rows(const BodyView<T>& body, const FrameData<T>* frames, int n_frames, const T* q,
                                    std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q, body.n_q}};
  for_each_problem<T>(in, Rows<T>{out, 16 * n_frames, 16 * n_frames}, 12 * body.count(), batch, s,
                      [&](auto rows, auto* result, auto* work) {
                        using S = scalar_of<decltype(result)>;
                        place_all(body, rows[0], work);
                        for (int f = 0; f < n_frames; ++f) {
                          S R[9], p[3];
                          frame_from(frames[f], work, R, p);
                          write_transform(R, p, result + 16 * f);
                          write_last_row(result + 16 * f);
                        }
                      });
}

// Jacobian-like results: (6, n_v) per row, of which only the columns on the path to the frame are not zero
template <class T, int n_in, class Kernel> void on_path_rows(const BodyView<T>& body, const FrameData<T>& frame,
                                                             const T* const (&data)[n_in], std::size_t batch, T* out,
                                                             Scratch& s, const Kernel& kernel, bool singly = false) {
  const int widths[] = {body.n_q, body.n_v};
  Rows<const T> in[n_in];
  for (int k = 0; k < n_in; ++k) in[k] = {data[k], widths[k], widths[k]};
  Rows<T> result{out, 6 * body.n_v, 6 * body.n_v};
  if (batch < few || singly) {
    run_singly<T>(in, result, 0, batch, s, kernel(body, frame));
    return;
  }
  const std::size_t room = (path_room(body) + 6 * static_cast<std::size_t>(body.n_v) * sizeof(int) + 63) / 64 * 64;
  char* memory = static_cast<char*>(s.reserve(room + pack_room(in, result, 0)));
  const Path<T> path = path_to(body, frame, memory);
  int* out_places = reinterpret_cast<int*>(memory + path_room(body));
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < path.body.n_v; ++c) out_places[r * path.body.n_v + c] = r * body.n_v + path.v_places[c];
  }
  const int* places[] = {path.q_places, path.v_places};
  const int path_widths[] = {path.body.n_q, path.body.n_v};
  for (int k = 0; k < n_in; ++k) in[k] = {data[k], widths[k], path_widths[k], places[k]};
  std::memset(out, 0, sizeof(T) * batch * static_cast<std::size_t>(6 * body.n_v));
  run_packs(in, Rows<T>{out, 6 * body.n_v, 6 * path.body.n_v, out_places}, batch, memory + room,
            kernel(path.body, path.frame));
}

template <class T> void jacobian_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* point, int reference,
                                      const T* q, std::size_t batch, T* out, Scratch& s) {
  const T* const data[] = {q};
  on_path_rows(body, frame, data, batch, out, s, [&](const BodyView<T>& on, const FrameData<T>& at) {
    return [&, point, reference](auto rows, auto* J, auto*) {
      frame_jacobian(on, at, point, reference, rows[0], on.n_v, J);
    };
  });
}

template <class T> void jacobian_dot_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* point,
                                          int reference, const T* q, const T* v, std::size_t batch, T* out,
                                          Scratch& s) {
  const T* const data[] = {q, v};
  const auto kernel = [&](const BodyView<T>& on, const FrameData<T>& at) {
    return [&, point, reference](auto rows, auto* J_dot, auto*) {
      frame_jacobian_dot(on, at, point, reference, rows[0], rows[1], on.n_v, J_dot);
    };
  };
  on_path_rows(body, frame, data, batch, out, s, kernel, is_scaled(frame));
}

// always one by one: the result is quadratic in the joints, and packs of it would not fit a cache
template <class T> void hessian_rows(const BodyView<T>& body, const FrameData<T>& frame, const T* q, std::size_t batch,
                                     T* out, Scratch& s) {
  const std::size_t n = static_cast<std::size_t>(body.n_v);
  // a mimic joint adds a column of its own: count primitives, up to three columns each
  auto* path =
      static_cast<PathColumn<T>*>(s.reserve(sizeof(PathColumn<T>) * 3 * static_cast<std::size_t>(body.count() + 1)));
  for (std::size_t b = 0; b < batch; ++b) {
    frame_hessian(body, frame, q + b * static_cast<std::size_t>(body.n_q), body.n_v, path, out + b * 6 * n * n);
  }
}

template <class T> void center_rows(const BodyView<T>& body, const T* q, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q, body.n_q}};
  const int n = body.count();
  for_each_problem<T>(in, Rows<T>{out, 3, 3}, 16 * n + 4, batch, s, [&](auto rows, auto* result, auto* work) {
    using S = scalar_of<decltype(result)>;
    center_of_mass(body, rows[0], body.n_v, work, work + 12 * n, result, static_cast<S*>(nullptr));
  });
}

template <class T>
void center_jacobian_rows(const BodyView<T>& body, const T* q, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q, body.n_q}};
  const int n = body.count();
  for_each_problem<T>(in, Rows<T>{out, 3 * body.n_v, 3 * body.n_v}, 16 * n + 4, batch, s,
                      [&](auto rows, auto* result, auto* work) {
                        using S = scalar_of<decltype(result)>;
                        S center[3];
                        center_of_mass(body, rows[0], body.n_v, work, work + 12 * n, center, result);
                      });
}

template <class T> void integrate_rows(const BodyView<T>& body, const Coordinate* coordinates, int n, const T* q,
                                       const T* dq, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q, body.n_q, body.n_q}, {dq, body.n_v, body.n_v}};
  for_each_problem<T>(in, Rows<T>{out, body.n_q, body.n_q}, 0, batch, s,
                      [&](auto rows, auto* result, auto*) { integrate(coordinates, n, rows[0], rows[1], result); });
}

template <class T> void difference_rows(const BodyView<T>& body, const Coordinate* coordinates, int n, const T* q0,
                                        const T* q1, std::size_t batch, T* out, Scratch& s) {
  const Rows<const T> in[] = {{q0, body.n_q, body.n_q}, {q1, body.n_q, body.n_q}};
  for_each_problem<T>(in, Rows<T>{out, body.n_v, body.n_v}, 0, batch, s,
                      [&](auto rows, auto* result, auto*) { difference(coordinates, n, rows[0], rows[1], result); });
}

template <class T> constexpr Ops<T> body_ops() {
  return {frame_fk_rows<T>, all_fk_rows<T>,          jacobian_rows<T>,  jacobian_dot_rows<T>, hessian_rows<T>,
          center_rows<T>,   center_jacobian_rows<T>, integrate_rows<T>, difference_rows<T>};
}

// ---------------------------------------------------------------------------------------------- spatial

template <int n_in, int n_out, class Kernel>
void map_rows(const double* in, std::size_t batch, double* out, Scratch& s, const Kernel& kernel) {
  const Rows<const double> rows[] = {{in, n_in, n_in}};
  for_each_problem<double>(rows, Rows<double>{out, n_out, n_out}, 0, batch, s,
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

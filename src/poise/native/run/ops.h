// ops.h: the batch operations, as tables of functions. ops.cpp is compiled once for each instruction level, and the
// bindings select the best table that this machine supports.
#pragma once
#include <cstddef>

#include "kernels/body/kinematics.h"
#include "memory/scratch.h"
#include "memory/solver_data.h"

namespace poise {

template <class T> struct Ops {
  void (*frame_fk)(const BodyView<T>&, const FrameData<T>&, const T* q, std::size_t batch, T* out, Scratch&);
  void (*all_fk)(const BodyView<T>&, const FrameData<T>*, int n_frames, const T* q, std::size_t batch, T* out,
                 Scratch&);
  void (*jacobian)(const BodyView<T>&, const FrameData<T>&, const T* point, int reference, const T* q,
                   std::size_t batch, T* out, Scratch&);
  void (*jacobian_dot)(const BodyView<T>&, const FrameData<T>&, const T* point, int reference, const T* q, const T* v,
                       std::size_t batch, T* out, Scratch&);
  void (*hessian)(const BodyView<T>&, const FrameData<T>&, const T* q, std::size_t batch, T* out, Scratch&);
  void (*center_of_mass)(const BodyView<T>&, const T* q, std::size_t batch, T* out, Scratch&);
  void (*center_of_mass_jacobian)(const BodyView<T>&, const T* q, std::size_t batch, T* out, Scratch&);
  void (*integrate)(const BodyView<T>&, const Coordinate*, int n, const T* q, const T* dq, std::size_t batch, T* out,
                    Scratch&);
  void (*difference)(const BodyView<T>&, const Coordinate*, int n, const T* q0, const T* q1, std::size_t batch, T* out,
                     Scratch&);
};

// rotations and rigid motions, always in double; the names give the widths of input and output rows
struct SpatialOps {
  using Map = void (*)(const double* in, std::size_t batch, double* out, Scratch&);
  Map matrix_of_quaternion;  // 4 -> 9
  Map quaternion_of_matrix;  // 9 -> 4, unit, w >= 0
  Map log_of_quaternion;     // 4 -> 3
  Map quaternion_of_log;     // 3 -> 4
  Map exp_of_twist;          // 6 -> 7: quaternion, translation
  Map log_of_transform;      // 7 -> 6
  Map quaternion_product;    // 8 -> 4
  Map rotate_vector;         // 7 -> 3: quaternion, vector
};

struct OpsTable {
  const char* level;
  Ops<double> f64;
  Ops<float> f32;
  SpatialOps spatial;
};

const OpsTable& ops();          // the best table that this machine supports
const SolverOps& solver_ops();  // likewise
void choose_level(
    const char* name);  // for tests: "baseline", "avx2", "avx512"; unknown or unsupported names are ignored

}  // namespace poise

// portable.h: the only file with preprocessor conditions.
//
// POISE_FN is always inlined. POISE_LARGE_FN may stay a function on the CPU; it is `static`, because a source is
// compiled for several instruction levels and the linker must not use one level's function for another. Ten lines or more
// off the innermost loops are large: always inlined, they take a fifth more time to compile and run no faster.
//
// POISE_CALLED_FN is inlined on the CPU and stays a function on the device, where its inlined copies would take minutes to compile.
//
// POISE_UNROLL_BODY precedes loops over joints, velocities and goals, POISE_UNROLL_ROWS those over rows of residuals:
// their number may be a compile-time constant.
// POISE_ROLLED precedes loops with a large body: on the device they stay loops, or one kernel takes minutes to compile.
// POISE_TABLE is an array of constants, in memory where threads of a device may read different elements at once. POISE_KNOWN is one
// whose numbers become part of the instructions.
//
// Everything else in kernels/ is ordinary C++20 for both CPU compilers and NVRTC. This file has their differences:
// function qualifiers, loop unrolling, the C library, and the SIMD pack.
//
// A scalar type S is float, double or Pack<T, N> (N problems in parallel). `real_t<S>` is its lane type, `mask_t<S>`
// the result of a comparison, and `select`, `any`, `all` work on both, so one source serves one problem or a pack of
// them.
#pragma once

#if defined(__CUDACC__)
#define POISE_FN __host__ __device__ __forceinline__
#define POISE_LARGE_FN __host__ __device__ __forceinline__
#define POISE_CALLED_FN __host__ __device__ __noinline__
#define POISE_UNROLL _Pragma("unroll")
#define POISE_ROLLED _Pragma("unroll 1")
#define POISE_TABLE static __device__ const
#define POISE_KNOWN static __device__ constexpr
#define POISE_ON_DEVICE 1
#elif defined(_MSC_VER) && !defined(__clang__)
#define POISE_FN __forceinline
#define POISE_LARGE_FN static inline
#define POISE_CALLED_FN __forceinline
#define POISE_UNROLL
#define POISE_ROLLED
#define POISE_TABLE static const
#define POISE_KNOWN static constexpr
#define POISE_ON_DEVICE 0
#elif defined(__clang__)
#define POISE_FN inline __attribute__((always_inline))
#define POISE_LARGE_FN static inline
#define POISE_CALLED_FN inline __attribute__((always_inline))
#define POISE_UNROLL _Pragma("unroll")
#define POISE_ROLLED
#define POISE_TABLE static const
#define POISE_KNOWN static constexpr
#define POISE_ON_DEVICE 0
#else
#define POISE_FN inline __attribute__((always_inline))
#define POISE_LARGE_FN static inline
#define POISE_CALLED_FN inline __attribute__((always_inline))
#define POISE_UNROLL _Pragma("GCC unroll 24")
#define POISE_ROLLED
#define POISE_TABLE static const
#define POISE_KNOWN static constexpr
#define POISE_ON_DEVICE 0
#endif

// on the device a small body is in registers: every loop over its joints and rows is unrolled
#if defined(POISE_SMALL_BODY)
#define POISE_UNROLL_BODY _Pragma("unroll")
#define POISE_UNROLL_ROWS _Pragma("unroll")
#elif defined(__CUDACC__)
#define POISE_UNROLL_BODY _Pragma("unroll 1")
#define POISE_UNROLL_ROWS _Pragma("unroll 4")
#else
#define POISE_UNROLL_BODY
#define POISE_UNROLL_ROWS POISE_UNROLL
#endif

// NEON has instructions that compilers do not generate from selects
#if defined(__aarch64__) && !defined(__CUDACC__) && (defined(__GNUC__) || defined(__clang__))
#define POISE_NEON 1
#include <arm_neon.h>
#else
#define POISE_NEON 0
#endif

#if !defined(__CUDACC_RTC__)
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define POISE_VECTOR_EXTENSION 1
#else
#define POISE_VECTOR_EXTENSION 0
#endif

// bytes in one SIMD register of the instruction level that this file is compiled for
#if defined(__AVX512F__)
#define POISE_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define POISE_REGISTER_BYTES 32
#else
#define POISE_REGISTER_BYTES 16
#endif

namespace poise {

constexpr bool on_device = POISE_ON_DEVICE != 0;

// Pyodide cannot start threads
#if defined(__EMSCRIPTEN__)
constexpr bool has_threads = false;
#else
constexpr bool has_threads = true;
#endif

// The plan of all closed forms in this source, if it is known (gpu/source.py); otherwise -1. The code of other plans is
// left out: a compiler that inlines everything would take most of its time with it.
#if defined(POISE_PLAN)
constexpr int only_plan = POISE_PLAN;
#else
constexpr int only_plan = -1;
#endif

// Whether regions are placed row by row, and whether some are point clouds or hulls, if that is known: without them a
// kernel needs fewer registers.
#if defined(POISE_PLACED)
constexpr bool may_be_placed = POISE_PLACED, may_be_clouds = POISE_CLOUDS;
#else
constexpr bool may_be_placed = true, may_be_clouds = true;
#endif

// ---------------------------------------------------------------------------------------------- the pack

#if !POISE_ON_DEVICE

template <class T> struct LaneInt;
template <> struct LaneInt<double> { using type = std::int64_t; };
template <> struct LaneInt<float> { using type = std::int32_t; };

#if POISE_VECTOR_EXTENSION
template <class T, int N> struct VectorOf { typedef T type __attribute__((vector_size(sizeof(T) * N))); };
#else
// compilers without vector types: the same operations lane by lane
template <class T, int N> struct Lanes {
  T lane[N];
  T& operator[](int i) { return lane[i]; }
  T operator[](int i) const { return lane[i]; }
};
template <class T, int N> struct VectorOf { using type = Lanes<T, N>; };
#define POISE_LANEWISE(op)                                                                                 \
  template <class T, int N> POISE_FN Lanes<T, N> operator op(const Lanes<T, N>& a, const Lanes<T, N>& b) { \
    Lanes<T, N> r;                                                                                         \
    for (int i = 0; i < N; ++i) r.lane[i] = static_cast<T>(a.lane[i] op b.lane[i]);                        \
    return r;                                                                                              \
  }
POISE_LANEWISE(+)
POISE_LANEWISE(-)
POISE_LANEWISE(*)
POISE_LANEWISE(/)
POISE_LANEWISE(&)
POISE_LANEWISE(|)
#undef POISE_LANEWISE
#endif

template <class T, int N> struct Mask {
  using Int = typename LaneInt<T>::type;
  static constexpr int lanes = N;
  typename VectorOf<Int, N>::type v;
  POISE_FN bool lane(int i) const { return v[i] != 0; }
};

template <class T, int N> struct Pack {
  typename VectorOf<T, N>::type v;
  Pack() = default;
  POISE_FN Pack(T x) {
    for (int i = 0; i < N; ++i) v[i] = x;
  }
  POISE_FN T lane(int i) const { return v[i]; }
  POISE_FN void set(int i, T x) { v[i] = x; }
};

// clang-format off
#define POISE_PACK_ARITHMETIC(op)                                                                                      \
  template <class T, int N> POISE_FN Pack<T, N> operator op(Pack<T, N> a, Pack<T, N> b) {                              \
    Pack<T, N> r;                                                                                                      \
    r.v = a.v op b.v;                                                                                                  \
    return r;                                                                                                          \
  }                                                                                                                    \
  template <class T, int N> POISE_FN Pack<T, N> operator op(Pack<T, N> a, T b) { return a op Pack<T, N>(b); }          \
  template <class T, int N> POISE_FN Pack<T, N> operator op(T a, Pack<T, N> b) { return Pack<T, N>(a) op b; }          \
  template <class T, int N> POISE_FN Pack<T, N>& operator op##=(Pack<T, N>& a, Pack<T, N> b) { return a = a op b; } \
  template <class T, int N> POISE_FN Pack<T, N>& operator op##=(Pack<T, N>& a, T b) { return a = a op b; }
POISE_PACK_ARITHMETIC(+)
POISE_PACK_ARITHMETIC(-)
POISE_PACK_ARITHMETIC(*)
POISE_PACK_ARITHMETIC(/)
#undef POISE_PACK_ARITHMETIC
// clang-format on
template <class T, int N> POISE_FN Pack<T, N> operator-(Pack<T, N> a) { return T(0) - a; }

#if POISE_VECTOR_EXTENSION
#define POISE_COMPARE_BODY(op) m.v = (a.v op b.v);
#define POISE_SELECT_BODY r.v = (m.v ? a.v : b.v);
#define POISE_NOT_BODY r.v = ~a.v;  // a mask is all ones or zeros; g++ 12 cannot compile `a.v == 0` for SSE2 at -O3
#else
#define POISE_COMPARE_BODY(op) \
  for (int i = 0; i < N; ++i) m.v[i] = (a.v[i] op b.v[i]) ? -1 : 0;
#define POISE_SELECT_BODY \
  for (int i = 0; i < N; ++i) r.v[i] = m.v[i] ? a.v[i] : b.v[i];
#define POISE_NOT_BODY \
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] ? 0 : -1;
#endif
#define POISE_PACK_COMPARE(op)                                                            \
  template <class T, int N> POISE_FN Mask<T, N> operator op(Pack<T, N> a, Pack<T, N> b) { \
    Mask<T, N> m;                                                                         \
    POISE_COMPARE_BODY(op)                                                                \
    return m;                                                                             \
  }                                                                                       \
  template <class T, int N> POISE_FN Mask<T, N> operator op(Pack<T, N> a, T b) { return a op Pack<T, N>(b); }
POISE_PACK_COMPARE(<)
POISE_PACK_COMPARE(<=)
POISE_PACK_COMPARE(>)
POISE_PACK_COMPARE(>=)
#undef POISE_PACK_COMPARE

template <class T, int N> POISE_FN Mask<T, N> operator&(Mask<T, N> a, Mask<T, N> b) { return {a.v & b.v}; }
template <class T, int N> POISE_FN Mask<T, N> operator|(Mask<T, N> a, Mask<T, N> b) { return {a.v | b.v}; }
template <class T, int N> POISE_FN Mask<T, N> operator!(Mask<T, N> a) {
  Mask<T, N> r;
  POISE_NOT_BODY
  return r;
}
template <class T, int N> POISE_FN bool any(Mask<T, N> m) {
  // through memory: as 64-bit words, which compilers sum in parallel
  constexpr int words = static_cast<int>(sizeof(m.v) / sizeof(std::int64_t));
  std::int64_t word[words], r = 0;
  std::memcpy(word, &m.v, sizeof(word));
  for (int i = 0; i < words; ++i) r |= word[i];
  return r != 0;
}
template <class T, int N> POISE_FN Pack<T, N> select(Mask<T, N> m, Pack<T, N> a, Pack<T, N> b) {
  Pack<T, N> r;
  POISE_SELECT_BODY
  return r;
}
template <class T, int N> POISE_FN Pack<T, N> square_root(Pack<T, N> a) {
  // through memory: compilers see an array, and compute all roots at once
  T lane[N];
  std::memcpy(lane, &a.v, sizeof(lane));
  for (int i = 0; i < N; ++i) lane[i] = std::sqrt(lane[i]);
  std::memcpy(&a.v, lane, sizeof(lane));
  return a;
}

#endif  // !POISE_ON_DEVICE

// ---------------------------------------------------------------------------------------------- one scalar

template <class S> struct ScalarTraits;
template <> struct ScalarTraits<float> {
  using Real = float;
  using MaskType = bool;
  static constexpr int lanes = 1;
};
template <> struct ScalarTraits<double> {
  using Real = double;
  using MaskType = bool;
  static constexpr int lanes = 1;
};
#if !POISE_ON_DEVICE
template <class T, int N> struct ScalarTraits<Pack<T, N>> {
  using Real = T;
  using MaskType = Mask<T, N>;
  static constexpr int lanes = N;
};
template <class T> using NativePack = Pack<T, POISE_REGISTER_BYTES / static_cast<int>(sizeof(T))>;
#endif

template <class S> using real_t = typename ScalarTraits<S>::Real;
template <class S> using mask_t = typename ScalarTraits<S>::MaskType;

// Rows of a matrix in one register: W of them for plain numbers on a CPU; a pack already fills registers, and a GPU
// thread has one. The padding is the same at every instruction level, because memory is allocated by code that is
// independent of the level.
template <class S, bool WIDE = !POISE_ON_DEVICE && sizeof(S) == sizeof(real_t<S>)> struct Strip {
  static constexpr int width = 1, padding = 1;
  using Row = S;
};
#if !POISE_ON_DEVICE
template <class S> struct Strip<S, true> {
  static constexpr int width = POISE_REGISTER_BYTES >= 4 * sizeof(S) ? 4 : 2, padding = 4;
  using Row = Pack<S, width>;
};
#endif

template <class S> POISE_FN void gather_row(const S* from, S& to) { to = from[0]; }
template <class S> POISE_FN void scatter_row(const S& from, S* to) { to[0] = from; }
#if !POISE_ON_DEVICE
template <class T, int N> POISE_FN void gather_row(const T* from, Pack<T, N>& to) {
  std::memcpy(&to.v, from, sizeof(to.v));
}
template <class T, int N> POISE_FN void scatter_row(const Pack<T, N>& from, T* to) {
  std::memcpy(to, &from.v, sizeof(from.v));
}
#endif

POISE_FN float select(bool m, float a, float b) { return m ? a : b; }
POISE_FN double select(bool m, double a, double b) { return m ? a : b; }
POISE_FN bool any(bool m) { return m; }

#if POISE_ON_DEVICE
POISE_FN float square_root(float x) { return sqrtf(x); }
POISE_FN double square_root(double x) { return sqrt(x); }
POISE_FN double floor_of(double x) { return floor(x); }
#else
POISE_FN float square_root(float x) { return std::sqrt(x); }
POISE_FN double square_root(double x) { return std::sqrt(x); }
POISE_FN double floor_of(double x) { return std::floor(x); }
#endif

// one of the problems in a scalar
template <class S> POISE_FN real_t<S> lane_of(const S& x, int lane) {
  if constexpr (ScalarTraits<S>::lanes == 1) {
    return x;
  } else {
    return x.lane(lane);
  }
}

template <class S> POISE_FN void set_lane(S& x, int lane, real_t<S> value) {
  if constexpr (ScalarTraits<S>::lanes == 1) {
    x = value;
  } else {
    x.set(lane, value);
  }
}

template <class S> POISE_FN S minimum(S a, S b) { return select(a < b, a, b); }
template <class S> POISE_FN S maximum(S a, S b) { return select(a > b, a, b); }
template <class S> POISE_FN S absolute(S a) { return select(a < S(real_t<S>(0)), S(real_t<S>(0)) - a, a); }
template <class S> POISE_FN S reciprocal(S a) { return S(real_t<S>(1)) / a; }

// one instruction each if available; with NaN as the first argument all return the second
#if POISE_ON_DEVICE
POISE_FN float minimum(float a, float b) { return fminf(a, b); }
POISE_FN float maximum(float a, float b) { return fmaxf(a, b); }
POISE_FN float absolute(float a) { return fabsf(a); }
#elif POISE_NEON
POISE_FN double absolute(double a) { return __builtin_fabs(a); }
#define POISE_NEON_PACK(T, N, type, suffix, rounds)                                                              \
  POISE_FN Pack<T, N> minimum(Pack<T, N> a, Pack<T, N> b) {                                                      \
    a.v = (decltype(a.v))vminnmq_##suffix((type)a.v, (type)b.v);                                                 \
    return a;                                                                                                    \
  }                                                                                                              \
  POISE_FN Pack<T, N> maximum(Pack<T, N> a, Pack<T, N> b) {                                                      \
    a.v = (decltype(a.v))vmaxnmq_##suffix((type)a.v, (type)b.v);                                                 \
    return a;                                                                                                    \
  }                                                                                                              \
  POISE_FN Pack<T, N> absolute(Pack<T, N> a) {                                                                   \
    a.v = (decltype(a.v))vabsq_##suffix((type)a.v);                                                              \
    return a;                                                                                                    \
  }                                                                                                              \
  /* an estimate of 8 bits, doubled by each of Newton's steps: many at once, where a division blocks its unit */ \
  POISE_FN Pack<T, N> reciprocal(Pack<T, N> a) {                                                                 \
    const type x = (type)a.v;                                                                                    \
    type y = vrecpeq_##suffix(x);                                                                                \
    for (int k = 0; k < rounds; ++k) y = vmulq_##suffix(y, vrecpsq_##suffix(x, y));                              \
    a.v = (decltype(a.v))y;                                                                                      \
    return a;                                                                                                    \
  }
POISE_NEON_PACK(double, 2, float64x2_t, f64, 3)
POISE_NEON_PACK(float, 4, float32x4_t, f32, 2)
#undef POISE_NEON_PACK
#endif

// ---------------------------------------------------------------------------------------------- integers inside a
// scalar

// A scalar to which 1.5 * 2^52 (2^23 in float) has been added has an integer in its last bits. `is_odd` reads the last
// of them, `signed_by` flips the sign of x if the second last bit of the integer plus `more` is set.
#if !POISE_ON_DEVICE
template <class T> POISE_FN typename LaneInt<T>::type bits_of(T x) {
  typename LaneInt<T>::type bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
template <class T> POISE_FN bool is_odd(T shifted) { return (bits_of(shifted) & 1) != 0; }
template <class T> POISE_FN T signed_by(T x, T shifted, int more) {
  using Int = typename LaneInt<T>::type;
  constexpr int top = 8 * static_cast<int>(sizeof(T)) - 2;
  const Int flip = static_cast<Int>(static_cast<std::make_unsigned_t<Int>>((bits_of(shifted) + more) & 2) << top);
  const Int bits = bits_of(x) ^ flip;
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}
template <class T, int N> POISE_FN Mask<T, N> is_odd(Pack<T, N> shifted) {
  Mask<T, N> m;
#if POISE_VECTOR_EXTENSION
  m.v = ((decltype(m.v))shifted.v & 1) != 0;
#else
  for (int i = 0; i < N; ++i) m.v[i] = is_odd(shifted.v[i]) ? -1 : 0;
#endif
  return m;
}
template <class T, int N> POISE_FN Pack<T, N> signed_by(Pack<T, N> x, Pack<T, N> shifted, int more) {
#if POISE_VECTOR_EXTENSION
  using Int = typename LaneInt<T>::type;
  using Ints = decltype(Mask<T, N>::v);
  constexpr int top = 8 * static_cast<int>(sizeof(T)) - 2;
  x.v = (decltype(x.v))((Ints)x.v ^ ((((Ints)shifted.v + static_cast<Int>(more)) & 2) << top));
#else
  for (int i = 0; i < N; ++i) x.v[i] = signed_by(x.v[i], shifted.v[i], more);
#endif
  return x;
}
#else
POISE_FN int bits_of(float x) {
  int bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
#endif

// 0 / 0, which no compiler may fold into an error
template <class T> POISE_FN T not_a_number() {
  T zero = T(0);
  return zero / zero;
}

// ---------------------------------------------------------------------------------------------- trigonometry hooks

// On the device the C library's functions are accurate and fast; on the CPU trig.h has one polynomial for all lane
// counts. `library_sincos` is the exact fallback for huge angles.
#if POISE_ON_DEVICE
constexpr bool has_device_trig = true;
POISE_FN void library_sincos(float x, float& s, float& c) { sincosf(x, &s, &c); }
POISE_FN void library_sincos(double x, double& s, double& c) { sincos(x, &s, &c); }
POISE_FN float library_atan2(float y, float x) { return atan2f(y, x); }
POISE_FN double library_atan2(double y, double x) { return atan2(y, x); }
#else
constexpr bool has_device_trig = false;
template <class T> POISE_FN void library_sincos(T x, T& s, T& c) {
  s = std::sin(x);
  c = std::cos(x);
}
template <class T, int N> POISE_FN void library_sincos(Pack<T, N> x, Pack<T, N>& s, Pack<T, N>& c) {
  T sine[N], cosine[N];
  for (int i = 0; i < N; ++i) {
    sine[i] = std::sin(x.lane(i));
    cosine[i] = std::cos(x.lane(i));
  }
  std::memcpy(&s.v, sine, sizeof(sine));
  std::memcpy(&c.v, cosine, sizeof(cosine));
}
template <class S> POISE_FN S library_atan2(S, S x) { return x; }  // never called on the CPU: trig.h has its own
#endif

}  // namespace poise

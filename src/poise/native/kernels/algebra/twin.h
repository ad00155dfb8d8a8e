// twin.h: two packs as one scalar.
//
// A search is a chain of dependent operations: the product along the joints, the pivots of a factorisation. With short
// registers a core is idle meanwhile. Two interleaved packs fill it, and everything but arithmetic (loops, addresses,
// branches) is done once for both. Measured with NEON: 9 % (double); registers of 32 bytes and more do not need it.
#pragma once
#include "kernels/portable.h"

namespace poise {

template <class M> struct TwinMask {
  M a, b;
  POISE_FN bool lane(int i) const { return i < M::lanes ? a.lane(i) : b.lane(i - M::lanes); }
};

template <class P> struct Twin {
  using Real = real_t<P>;
  static constexpr int half = ScalarTraits<P>::lanes;
  P a, b;
  Twin() = default;
  POISE_FN Twin(Real x) : a(x), b(x) {}
  POISE_FN Twin(P x, P y) : a(x), b(y) {}
  POISE_FN Real lane(int i) const { return i < half ? a.lane(i) : b.lane(i - half); }
  POISE_FN void set(int i, Real x) { i < half ? a.set(i, x) : b.set(i - half, x); }
};

template <class P> struct ScalarTraits<Twin<P>> {
  using Real = real_t<P>;
  using MaskType = TwinMask<mask_t<P>>;
  static constexpr int lanes = 2 * ScalarTraits<P>::lanes;
};

#define POISE_TWIN_ARITHMETIC(op)                                                       \
  template <class P> POISE_FN Twin<P> operator op(const Twin<P>& x, const Twin<P>& y) { \
    return {x.a op y.a, x.b op y.b};                                                    \
  }                                                                                     \
  template <class P> POISE_FN Twin<P>& operator op## = (Twin<P> & x, const Twin<P>& y) { return x = x op y; }
POISE_TWIN_ARITHMETIC(+)
POISE_TWIN_ARITHMETIC(-)
POISE_TWIN_ARITHMETIC(*)
POISE_TWIN_ARITHMETIC(/)
#undef POISE_TWIN_ARITHMETIC
#define POISE_TWIN_COMPARE(op)                                                                      \
  template <class P> POISE_FN TwinMask<mask_t<P>> operator op(const Twin<P>& x, const Twin<P>& y) { \
    return {x.a op y.a, x.b op y.b};                                                                \
  }
POISE_TWIN_COMPARE(<)
POISE_TWIN_COMPARE(<=)
POISE_TWIN_COMPARE(>)
POISE_TWIN_COMPARE(>=)
#undef POISE_TWIN_COMPARE

template <class P> POISE_FN Twin<P> operator-(const Twin<P>& x) { return {-x.a, -x.b}; }

template <class M> POISE_FN TwinMask<M> operator&(const TwinMask<M>& x, const TwinMask<M>& y) {
  return {x.a & y.a, x.b & y.b};
}
template <class M> POISE_FN TwinMask<M> operator|(const TwinMask<M>& x, const TwinMask<M>& y) {
  return {x.a | y.a, x.b | y.b};
}
template <class M> POISE_FN TwinMask<M> operator!(const TwinMask<M>& x) { return {!x.a, !x.b}; }
template <class M> POISE_FN bool any(const TwinMask<M>& x) { return any(x.a | x.b); }
template <class P> POISE_FN Twin<P> select(const TwinMask<mask_t<P>>& m, const Twin<P>& x, const Twin<P>& y) {
  return {select(m.a, x.a, y.a), select(m.b, x.b, y.b)};
}
template <class P> POISE_FN Twin<P> minimum(Twin<P> x, Twin<P> y) { return {minimum(x.a, y.a), minimum(x.b, y.b)}; }
template <class P> POISE_FN Twin<P> maximum(Twin<P> x, Twin<P> y) { return {maximum(x.a, y.a), maximum(x.b, y.b)}; }
template <class P> POISE_FN Twin<P> absolute(Twin<P> x) { return {absolute(x.a), absolute(x.b)}; }
template <class P> POISE_FN Twin<P> reciprocal(Twin<P> x) { return {reciprocal(x.a), reciprocal(x.b)}; }
template <class P> POISE_FN void scatter_row(const Twin<P>& from, real_t<P>* to) {
  scatter_row(from.a, to);
  scatter_row(from.b, to + Twin<P>::half);
}
template <class P> POISE_FN Twin<P> square_root(Twin<P> x) { return {square_root(x.a), square_root(x.b)}; }
template <class P> POISE_FN TwinMask<mask_t<P>> is_odd(Twin<P> x) { return {is_odd(x.a), is_odd(x.b)}; }
template <class P> POISE_FN Twin<P> signed_by(Twin<P> x, Twin<P> shifted, int more) {
  return {signed_by(x.a, shifted.a, more), signed_by(x.b, shifted.b, more)};
}
template <class P> POISE_FN void library_sincos(const Twin<P>& x, Twin<P>& s, Twin<P>& c) {
  library_sincos(x.a, s.a, c.a);
  library_sincos(x.b, s.b, c.b);
}

}  // namespace poise

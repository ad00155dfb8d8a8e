// processor.h: the instructions that an x86-64 processor and its operating system support, read from the processor
// itself: `__builtin_cpu_supports` of the compiler needs a symbol that some compilers' libraries do not link into
// shared modules.
#pragma once
#include <cpuid.h>

namespace poise {

struct Processor {
  unsigned basic = 0, extended = 0;  // leaf 1, ecx; leaf 7, ebx
  unsigned saved = 0;                // XCR0: the registers that the system saves

  Processor() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d)) basic = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) extended = b;
    if (basic & (1u << 27)) __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
  }

  // AVX and FMA; BMI1, AVX2, BMI2; the halves of ymm
  bool runs_avx2() const { return has(basic, {12, 28}) && has(extended, {3, 5, 8}) && has(saved, {1, 2}); }
  // F, DQ, BW, VL; the masks and all of zmm
  bool runs_avx512() const { return runs_avx2() && has(extended, {16, 17, 30, 31}) && has(saved, {5, 6, 7}); }

 private:
  template <int n> static bool has(unsigned word, const int (&bits)[n]) {
    for (int bit : bits) {
      if (!(word >> bit & 1u)) return false;
    }
    return true;
  }
};

}  // namespace poise

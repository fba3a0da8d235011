// How wide the vectors are that a hot loop may use. Every x86-64 has 128-bit vectors, most have
// 256; a loop that is worth it is compiled for both (FORETOKEN_WIDE on a function that inlines the
// loop) and asks at run time. Only for loops whose result does not depend on the width: whole
// numbers, or floats of which each lane does the same operations in the same order. Contraction is
// off everywhere, and fused multiply-adds are not among what FORETOKEN_WIDE allows.
#pragma once

namespace foretoken {

enum class Lanes { narrow, wide };

#if defined(__x86_64__)
#define FORETOKEN_WIDE __attribute__((target("avx2")))
/// The widest that this machine has.
inline Lanes widest_lanes() {
  static const bool has_wide = __builtin_cpu_supports("avx2") != 0;
  return has_wide ? Lanes::wide : Lanes::narrow;
}
#else
#define FORETOKEN_WIDE
inline Lanes widest_lanes() { return Lanes::narrow; }
#endif

/// Sixteen or 32 bytes of numbers that are loaded and stored wherever they lie.
template <class Number, Lanes lanes>
struct VectorOf {
  static constexpr int bytes = lanes == Lanes::wide ? 32 : 16;
  using Type [[gnu::vector_size(bytes), gnu::aligned(alignof(Number)), gnu::may_alias]] = Number;
};

}  // namespace foretoken

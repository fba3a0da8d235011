// Device memory that measured kernels read and write: one big block of random normal numbers to
// read, one to write, one of random row numbers. Consecutive launches get consecutive pieces, so
// that no launch finds its data in L2. Values are random because the tensor cores draw less power,
// and clock higher, on zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu.hpp"

namespace foretoken::measure {

enum class Fill { bf16, e4m3 };

/// What one launch reads and writes; `shared` (weights of an embedding, a KV cache) is the same
/// for all launches. All pointers are 1 KiB aligned.
struct Buffers {
  std::byte* shared = nullptr;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  const std::int32_t* indices = nullptr;
};

/// Bytes of the four parts of Buffers, and the bound below which `indices` are drawn.
struct Footprint {
  std::size_t shared_bytes = 0;
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
  std::size_t index_count = 0;
  std::int32_t index_bound = 1;
};

class Arena {
 public:
  /// Takes `input_gb` to read and half as much to write, or 40 and 20 % of the free memory where
  /// that is less.
  Arena(const Gpu& gpu, double input_gb);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Fills the block that is read with N(0, 1) in the given format. Deterministic.
  void fill(Fill format);

  /// How many launches of this footprint have room side by side; 0 if not even one.
  int capacity(const Footprint& footprint) const;
  /// The buffers of launch `index` < capacity.
  Buffers buffers(const Footprint& footprint, int index) const;
  /// Draws the row numbers of `launches` launches.
  void draw_indices(const Footprint& footprint, int launches);

 private:
  const Gpu& gpu_;
  std::size_t input_capacity_ = 0, output_capacity_ = 0, index_capacity_ = 0;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  std::int32_t* indices_ = nullptr;
};

}  // namespace foretoken::measure

#include "kernels/tiles/moe_tile.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// What CUDA keeps of an SM's shared memory for each CTA (programming guide, from 8.0 on).
constexpr double reserved_shared_bytes = 1024;
/// Registers besides the accumulators (moe_tile.hpp says how it was found).
constexpr int other_registers = 40;
/// Most registers a thread: CUDA programming guide; CDNA 3 ISA guide (256 and 256 accumulation).
constexpr int registers_max_nvidia = 255;
constexpr int registers_max_amd = 512;

int threads_of(const MoeTile& tile, GpuVendor vendor) {
  return tile.warps * (vendor == GpuVendor::amd ? 64 : 32);
}

}  // namespace

std::string moe_tile_text(const MoeTile& tile) {
  return fmt::format("{}x{}x{} group {} split {} warps {} stages {}", tile.block_m, tile.block_n,
                     tile.block_k, tile.group_m, tile.split_k, tile.warps, tile.stages);
}

MoePoolOptions measured_pool_options() {
  return {.families = {{16, 32, 128, 4},
                       {16, 64, 256, 4},
                       {16, 128, 128, 4},
                       {16, 128, 256, 4},
                       {32, 64, 128, 4},
                       {32, 128, 128, 4},
                       {64, 64, 128, 4},
                       {64, 128, 128, 4},
                       {64, 128, 128, 8},
                       {64, 256, 128, 8},
                       {128, 64, 128, 4},
                       {128, 128, 128, 8},
                       {128, 256, 128, 8},
                       {128, 128, 256, 8}},
          .groups = {1, 16},
          .splits = {1, 2, 4},
          .stages = {3, 4}};
}

double shared_bytes(const MoeTile& tile, DType dtype) {
  return static_cast<double>(tile.block_m + tile.block_n) * tile.block_k *
         bytes_per_element(dtype) * tile.stages;
}

int registers_per_thread(const MoeTile& tile, GpuVendor vendor) {
  const int accumulators = tile.block_m * tile.block_n / threads_of(tile, vendor);
  return (accumulators + other_registers + 7) / 8 * 8;
}

int resident_ctas(const MoeTile& tile, DType dtype, const GpuSpec& gpu) {
  const int registers = registers_per_thread(tile, gpu.vendor);
  const int threads = threads_of(tile, gpu.vendor);
  if (registers > (gpu.vendor == GpuVendor::amd ? registers_max_amd : registers_max_nvidia)) {
    return 0;
  }
  const double reserved = gpu.vendor == GpuVendor::amd ? 0 : reserved_shared_bytes;
  const auto by_shared =
      static_cast<int>(gpu.shared_size_sm.value() / (shared_bytes(tile, dtype) + reserved));
  return std::min(
      {by_shared, gpu.registers_sm / (registers * threads), gpu.threads_sm / threads, gpu.ctas_sm});
}

std::vector<MoeTile> moe_tiles(const MoePoolOptions& options, DType dtype, const GpuSpec& gpu) {
  std::vector<MoeTile> tiles;
  for (const MoeTileFamily& family : options.families) {
    // Four-bit formats with their scales: the power of two below.
    const auto elements = static_cast<unsigned>(family.depth_bytes / bytes_per_element(dtype));
    const int depth = std::min(static_cast<int>(std::bit_floor(elements)), 256);
    for (const int group : options.groups) {
      for (const int split : options.splits) {
        if (split > 1 && family.block_m > options.split_rows_max) continue;
        for (const int stages : options.stages) {
          const MoeTile tile{family.block_m, family.block_n, depth, group,
                             split,          family.warps,   stages};
          if (resident_ctas(tile, dtype, gpu) > 0) tiles.push_back(tile);
        }
      }
    }
  }
  if (tiles.empty()) {
    throw PredictionError(fmt::format("no tile of a mixture-of-experts kernel in {} fits {}",
                                      enum_name(dtype), gpu.name));
  }
  return tiles;
}

}  // namespace foretoken

// Matrix products: tiles, grids and schedules by dtype, source and GPU; the layer of experts.
#include <gmock/gmock.h>

#include "kernels/tasks/decomposition.hpp"
#include "kernels/tiles/tile_choice.hpp"
#include "kernels/tiles/tile_selector.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken::decomposer_gemm_test {
namespace {

using ::testing::ElementsAre;

GpuSpec h200() { return load_gpu("h200-sxm", {}); }
GpuSpec l40s() { return load_gpu("l40s", {}); }

Gemm gemm(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::bf16,
          KernelSource source = KernelSource::automatic) {
  return {.m = m, .n = n, .k = k, .dtype = dtype, .implementation = {.source = source}};
}

std::vector<std::string> names(const Decomposition& decomposition) {
  std::vector<std::string> result;
  for (const Launch& launch : decomposition.launches) result.emplace_back(launch.name);
  return result;
}

TEST(CublasDecomposition, PersistentWhereItWasProfiled) {
  const Launch hopper = decompose(gemm(4096, 8192, 8192), h200()).launches[0];
  EXPECT_EQ(hopper.name, "cublas_persistent");
  EXPECT_LE(hopper.shape.ctas(), 132);
  EXPECT_GT(hopper.task_count(), 132);
  const Launch ampere = decompose(gemm(4096, 8192, 8192), load_gpu("a100-sxm", {})).launches[0];
  EXPECT_EQ(ampere.name, "cublas_tiled");
  EXPECT_EQ(ampere.shape.ctas(), ampere.task_count());
}

// Whatever the tile: no fewer operations than the product has, and whole tiles in whole clusters.
TEST(CublasDecomposition, TilesCoverTheProduct) {
  for (const std::int64_t m : {1, 17, 128, 300, 5000}) {
    for (const std::int64_t n : {64, 1000, 12288}) {
      const GpuSpec gpu = h200();
      const Gemm kernel = gemm(m, n, 4096);
      const Launch launch = decompose(kernel, gpu).launches[0];
      const TileConfig tile = *profiled_cublas_tile(kernel, gpu);
      const auto whole = [](std::int64_t size, int step, int cluster) {
        const std::int64_t tiles_along = (size + step - 1) / step;
        return (tiles_along + cluster - 1) / cluster * cluster;
      };
      const std::int64_t tiles =
          whole(m, tile.m, tile.cluster_m) * whole(n, tile.n, tile.cluster_n) * tile.split_k;
      EXPECT_EQ(launch.task_count(), tiles);
      EXPECT_GE(summarise(schedule(launch, gpu)).total.tensor_ops,
                2.0 * static_cast<double>(m * n) * 4096);
    }
  }
}

TEST(CublasDecomposition, SplitKIsSummedByAnotherLaunch) {
  // 16 x 256 outputs are 4 tiles at most: depth is all there is to spread.
  const Decomposition result = decompose(gemm(16, 256, 65536), h200());
  EXPECT_THAT(names(result), ElementsAre("cublas_persistent", "split_k_reduce"));
}

TEST(CublasDecomposition, SaysWhereItsTileIsFrom) {
  const auto cut = [](const char* gpu) {
    return decompose(gemm(64, 4096, 4096), load_gpu(gpu, {}));
  };
  for (const char* gpu : {"h200-sxm", "h100-sxm", "h20"}) {
    EXPECT_EQ(cut(gpu).cut->origin, TileOrigin::profiled) << gpu;
    EXPECT_EQ(cut(gpu).approximation, "") << gpu;
  }
  for (const char* gpu : {"a100-sxm", "l40s", "b200-sxm", "rtx-pro-6000-server"}) {
    EXPECT_EQ(cut(gpu).cut->origin, TileOrigin::analytic) << gpu;
    EXPECT_EQ(cut(gpu).cut->by, "foretoken_2026") << gpu;
    EXPECT_NE(cut(gpu).approximation, "") << gpu;
  }
  EXPECT_EQ(cut("mi300x").cut->by, "origami_2025");
}

// The tile of `foretoken select`, on every GPU that nobody profiled and in every format.
TEST(CublasDecomposition, TakesTheSelectedTileElsewhere) {
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    if (gpu.compute_capability == 90) continue;
    for (const DType dtype : {DType::bf16, DType::fp8, DType::int8, DType::nvfp4, DType::mxfp4}) {
      if (gpu.tensor_rate(dtype).value() <= 0) continue;
      const TileSelector selector(gpu, dtype);
      for (const std::int64_t m : {1, 300, 8192}) {
        const Decomposition found =
            decompose(gemm(m, 4096, 4096, dtype, KernelSource::cublas), gpu);
        const ProductTile tile = selector.select(m, 4096, 4096).tile;
        EXPECT_EQ(*found.cut, (ProductCut{tile.m, tile.n, tile.k, tile.split_k,
                                          TileOrigin::analytic, found.cut->by}));
        const Launch& launch = found.launches[0];
        EXPECT_EQ(launch.task_count(),
                  tile_grid(tiled_product(m, 4096, 4096, dtype), tile).tiles() * tile.split_k);
        EXPECT_EQ(launch.shape.threads, tile.warps * (gpu.vendor == GpuVendor::amd ? 64 : 32));
        EXPECT_LE(launch.shape.shared_memory, gpu.shared_size_sm) << name << enum_name(dtype) << m;
        EXPECT_GE(schedule(launch, gpu).resident, 1);
      }
    }
  }
}

// Hopper, per tensor: up to 16 tokens the transpose in 64 x 16 tiles, 8,192 / 64 = 128 of them.
TEST(CutlassDecomposition, HopperSwapsOperandsOfSmallBatches) {
  const Decomposition result = decompose(gemm(16, 8192, 4096, DType::fp8), h200());
  EXPECT_THAT(names(result), ElementsAre("quantise", "cutlass_swapped"));
  EXPECT_EQ(result.launches[1].task_count(), 128);
  EXPECT_DOUBLE_EQ(result.launches[1].tasks[0].task.tensor_ops, 2.0 * 64 * 16 * 4096);
  EXPECT_DOUBLE_EQ(result.launches[1].tasks[0].task.bytes_loaded, (64 + 16) * 4096.0);
  EXPECT_EQ(result.approximation, "");
}

TEST(CutlassDecomposition, HopperTilesByBatch) {
  const auto tiles = [](std::int64_t m, std::int64_t n) {
    return decompose(gemm(m, n, 4096, DType::fp8), h200()).launches[1].task_count();
  };
  EXPECT_EQ(tiles(64, 1280), 4 * 20);    // 16 x 64 tiles
  EXPECT_EQ(tiles(64, 8192), 128);       // 64 x 64
  EXPECT_EQ(tiles(128, 8192), 2 * 64);   // 64 x 128
  EXPECT_EQ(tiles(1024, 8192), 8 * 64);  // 128 x 128
}

// Blockwise: Stream-K where the depth exceeds three widths. 8 tiles of 256 steps each are cut into
// 132 runs of 15 or 16 steps.
TEST(CutlassDecomposition, HopperBlockwiseUsesStreamKForDeepProducts) {
  const Gemm kernel = gemm(128, 1024, 32768, DType::fp8_block, KernelSource::cutlass);
  const Launch launch = decompose(kernel, h200()).launches[1];
  EXPECT_EQ(launch.scheduling, Scheduling::stream_k);
  EXPECT_EQ(launch.task_count(), 8 * 256);
  EXPECT_EQ(summarise(schedule(launch, h200())).busiest_tasks, 16);
  const Gemm wide = gemm(128, 32768, 1024, DType::fp8_block, KernelSource::cutlass);
  EXPECT_EQ(decompose(wide, h200()).launches[1].scheduling, Scheduling::persistent);
}

// n = 5,000 counts as 8,192: 16 x 64 tiles for up to 16 tokens; beyond, wider ones.
TEST(CutlassDecomposition, AdaTilesByBatchAndWidth) {
  const auto tile = [](std::int64_t m, std::int64_t n) {
    const Launch launch = decompose(gemm(m, n, 1024, DType::fp8), l40s()).launches[1];
    EXPECT_EQ(launch.scheduling, Scheduling::hardware);
    const Task task = launch.tasks[0].task;
    return std::pair(task.tensor_ops / (2 * 1024), task.bytes_loaded / 1024);  // area, m + n
  };
  EXPECT_EQ(tile(16, 5000), std::pair(16.0 * 64, 16.0 + 64));
  EXPECT_EQ(tile(16, 9000), std::pair(16.0 * 128, 16.0 + 128));
  EXPECT_EQ(tile(16, 30000), std::pair(32.0 * 64, 32.0 + 64));
  EXPECT_EQ(tile(100, 8192), std::pair(64.0 * 128, 64.0 + 128));
  EXPECT_EQ(tile(1000, 8192), std::pair(256.0 * 128, 256.0 + 128));
}

// 4,096 x 7,168 in 128 x n tiles: 32 x 56 = 1,792 at n = 128 are 14 rounds of 132; n = 160 has
// 32 x 45 = 1,440, 11 rounds (10.9), the fewest.
TEST(DeepGemmDecomposition, TakesTheFewestRounds) {
  const Decomposition result = decompose(gemm(4096, 7168, 2048, DType::fp8_block), h200());
  EXPECT_THAT(names(result), ElementsAre("quantise", "deep_gemm"));
  EXPECT_EQ(result.launches[1].task_count(), 1440);
}

TEST(GemmDecomposition, EverySourceButTheKnownOnesIsDeclared) {
  const GpuSpec b200 = load_gpu("b200-sxm", {});
  EXPECT_NE(decompose(gemm(64, 4096, 4096, DType::fp8), b200).approximation, "");
  EXPECT_NE(decompose(gemm(64, 4096, 4096, DType::nvfp4), b200).approximation, "");
  EXPECT_EQ(decompose(gemm(64, 4096, 4096, DType::fp8), l40s()).approximation, "");
}

TEST(GemmDecomposition, AMissingTensorPathIsAnError) {
  EXPECT_THROW(decompose(gemm(64, 4096, 4096, DType::fp8), load_gpu("a100-sxm", {})),
               PredictionError);
}

TEST(GemmDecomposition, LibrariesWithARuleAreNamed) {
  const auto origin = [](DType dtype, KernelSource source) {
    return decompose(gemm(64, 4096, 4096, dtype, source), h200()).cut->origin;
  };
  EXPECT_EQ(origin(DType::fp8, KernelSource::cutlass), TileOrigin::library);
  EXPECT_EQ(origin(DType::int8, KernelSource::cutlass), TileOrigin::analytic);
  EXPECT_EQ(origin(DType::fp8_block, KernelSource::deep_gemm), TileOrigin::library);
  EXPECT_EQ(origin(DType::fp8_block, KernelSource::triton), TileOrigin::library);
  const Gemm narrow = gemm(64, 4096, 4096, DType::fp8);
  EXPECT_EQ(decompose(narrow, load_gpu("b200-sxm", {})).cut->by,
            "the cheapest of CUTLASS's family");
  EXPECT_EQ(decompose(narrow, load_gpu("mi300x", {})).cut->by, "origami_2025");
  EXPECT_FALSE(decompose(RmsNorm{.tokens = 4, .dim = 64}, h200()).cut.has_value());
}

TEST(GemmDecomposition, ASourceThatHasNoGemmIsAnError) {
  EXPECT_THAT([] { decompose(gemm(64, 64, 64, DType::bf16, KernelSource::flash_mla), h200()); },
              ::testing::ThrowsMessage<PredictionError>("flash_mla has no gemm to decompose"));
}

// An A100 prices 64 tiles of 128 x 128 x 4,096 at two rounds of 108 SMs or fewer: more tiles of
// half the size never cost more rounds of math than they save.
TEST(TileChoice, CheapestIsNoDearerThanAnyOther) {
  const std::vector<TileConfig> family = {
      {.m = 64, .n = 64}, {.m = 128, .n = 128}, {.m = 256, .n = 128}};
  const GpuSpec gpu = h200();
  for (const std::int64_t m : {1, 100, 1000, 10000}) {
    const GemmShape shape{m, 4096, 4096};
    const double best =
        tile_cost_cycles(cheapest_tile(family, shape, DType::bf16, gpu), shape, DType::bf16, gpu);
    for (const TileConfig& tile : family) {
      EXPECT_LE(best, tile_cost_cycles(tile, shape, DType::bf16, gpu));
    }
  }
}

FusedMoe moe(std::int64_t tokens, KernelSource source = KernelSource::triton) {
  FusedMoe kernel;
  kernel.tokens = tokens;
  kernel.experts = 8;
  kernel.topk = 2;
  kernel.hidden = 4096;
  kernel.intermediate = 1024;
  kernel.implementation.source = source;
  return kernel;
}

TEST(MoeDecomposition, LaunchesOfALayer) {
  EXPECT_THAT(names(decompose(moe(1000), h200())),
              ElementsAre("moe_align", "moe_gate_up", "silu_and_mul", "moe_down", "moe_sum"));
  FusedMoe narrow = moe(1000);
  narrow.dtype = DType::fp8;
  EXPECT_THAT(names(decompose(narrow, h200())),
              ElementsAre("quantise", "moe_align", "moe_gate_up", "silu_and_mul", "quantise",
                          "moe_down", "moe_sum"));
}

// vLLM's tile of 1,000 tokens is 128 x 128: x 2 over 8 experts they are 250 rows each, 2 blocks;
// the products have 2,048 / 128 and 4,096 / 128 column tiles.
TEST(MoeDecomposition, PadsEachExpertToWholeBlocks) {
  const Decomposition result = decompose(moe(1000), l40s());
  EXPECT_EQ(result.launches[1].task_count(), 8 * 2 * 16);
  EXPECT_EQ(result.launches[3].task_count(), 8 * 2 * 32);
  EXPECT_DOUBLE_EQ(result.launches[1].tasks[0].task.tensor_ops, 2.0 * 128 * 128 * 4096);
  EXPECT_EQ(result.launches[4].task_count(), 1000 * 2);  // 2,048 columns a CTA
}

// 4 of 8 experts, half the assignments; experts 0 and 1 get everything, and rank 0 holds both.
TEST(MoeDecomposition, TakesTheBusiestRank) {
  FusedMoe kernel = moe(1000);
  kernel.ep = 2;
  EXPECT_EQ(decompose(kernel, l40s()).launches[2].task_count(), 1000);
  kernel.routing = {.kind = Routing::Kind::histogram, .counts = {1500, 500, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(decompose(kernel, l40s()).launches[2].task_count(), 2000);
}

TEST(MoeDecomposition, TensorParallelRanksHaveASliceOfEachExpert) {
  FusedMoe kernel = moe(1000);
  kernel.tp = 4;
  EXPECT_EQ(decompose(kernel, l40s()).launches[1].task_count(), 8 * 2 * (2 * 256 / 128));
}

// vLLM has a file for 128 experts of width 384 on the H200: 8 tokens over 8 of them are a row each,
// tiles of 16 x 64. Shapes without a file take the framework's default, which is no approximation.
TEST(MoeDecomposition, TunedShapesAreDeclared) {
  FusedMoe tuned = moe(4);
  tuned.experts = 128;
  tuned.intermediate = 384;
  const Decomposition result = decompose(tuned, h200());
  EXPECT_EQ(result.launches[1].task_count(), 8 * (768 / 64));
  EXPECT_DOUBLE_EQ(result.launches[1].tasks[0].task.tensor_ops, 2.0 * 16 * 64 * 4096);
  EXPECT_NE(result.approximation, "");
  EXPECT_EQ(decompose(moe(8), h200()).approximation, "");
}

TEST(MoeDecomposition, ClosedKernelsAreDeclared) {
  EXPECT_NE(decompose(moe(100, KernelSource::cutlass), h200()).approximation, "");
  EXPECT_NE(decompose(moe(100, KernelSource::trtllm), h200()).approximation, "");
  EXPECT_NE(decompose(moe(100, KernelSource::deep_gemm), h200()).approximation, "");
}

}  // namespace
}  // namespace foretoken::decomposer_gemm_test

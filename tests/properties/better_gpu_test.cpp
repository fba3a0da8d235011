// A researcher changes one number of a GPU: better hardware never costs more, and every number
// matters to a kernel that it limits. Both hold by construction (kernels/estimators/transfer.hpp),
// for copies of known parts and for parts that are like none.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "sim/run/run.hpp"
#include "tests/properties/random_kernel.hpp"

namespace foretoken {
namespace {

/// One number of a specification, made better by a factor.
struct Knob {
  const char* name;
  std::function<void(GpuSpec&, double)> turn;
};

const std::vector<Knob>& knobs() {
  static const auto scale = [](int& number, double factor) {
    number = static_cast<int>(std::lround(number * factor));
  };
  static const std::vector<Knob> list = {
      {"SMs", [](GpuSpec& gpu, double by) { scale(gpu.sm_count, by); }},
      {"clock", [](GpuSpec& gpu, double by) { gpu.clock *= by; }},
      {"tensor",
       [](GpuSpec& gpu, double by) {
         for (double& rate : gpu.tensor_ops_per_cycle_sm) rate *= by;
       }},
      {"fma", [](GpuSpec& gpu, double by) { gpu.fma_ops_per_cycle_sm *= by; }},
      {"xu", [](GpuSpec& gpu, double by) { gpu.xu_ops_per_cycle_sm *= by; }},
      {"dram", [](GpuSpec& gpu, double by) { gpu.dram_bandwidth *= by; }},
      {"l2", [](GpuSpec& gpu, double by) { gpu.l2_bandwidth *= by; }},
      {"l2_size", [](GpuSpec& gpu, double by) { gpu.l2_size *= by; }},
      {"shared", [](GpuSpec& gpu, double by) { gpu.shared_bytes_per_cycle_sm *= by; }},
      {"shared_size", [](GpuSpec& gpu, double by) { gpu.shared_size_sm *= by; }},
      {"registers", [](GpuSpec& gpu, double by) { scale(gpu.registers_sm, by); }},
      {"threads", [](GpuSpec& gpu, double by) { scale(gpu.threads_sm, by); }},
      {"ctas", [](GpuSpec& gpu, double by) { scale(gpu.ctas_sm, by); }},
      {"stream_share",
       [](GpuSpec& gpu, double by) {
         gpu.dram_stream_share = std::min(1.0, gpu.dram_stream_share * by);
       }},
      {"power", [](GpuSpec& gpu, double by) { gpu.power *= by; }},
      {"launch", [](GpuSpec& gpu, double by) { gpu.launch_latency *= 1 / by; }}};
  return list;
}

GpuSpec turned(GpuSpec gpu, const char* name, double by) {
  std::ranges::find(knobs(), std::string_view(name), &Knob::name)->turn(gpu, by);
  return gpu;
}

class GpuPrices : public testing::Test {
 protected:
  /// In seconds, 0 where there is no price.
  [[nodiscard]] double price(const Kernel& kernel, const GpuSpec& gpu) const {
    try {
      return predictor_->predict(kernel, gpu).time.value();
    } catch (const PredictionError&) {
      return 0;
    }
  }

 private:
  std::unique_ptr<Predictor> predictor_ = make_predictor(predictor_catalog(), "synperf", {});
};

class BetterGpu : public GpuPrices, public testing::WithParamInterface<std::uint32_t> {};

/// Built in, a copy with some numbers changed, or a part of which no number is known. Factors are
/// such that no number becomes another part's: what a part is like may change then.
GpuSpec random_part(Draw& draw) {
  const std::vector<std::string> names = gpu_names();
  GpuSpec gpu = load_gpu(
      names[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(names.size())))], {});
  const std::int64_t kind = draw.below(3);
  if (kind == 0) return gpu;
  gpu.file = "imaginary.toml";
  gpu.name = gpu.title = "imaginary";
  for (const Knob& knob : knobs()) {
    if (kind == 2 || draw.below(4) == 0) knob.turn(gpu, draw.one_of({0.53, 0.79, 0.91, 1.27, 1.9}));
  }
  if (kind == 2) {
    gpu.memory_capacity *= 0.9;
    gpu.pcie_bandwidth *= 0.9;
  }
  return gpu;
}

TEST_P(BetterGpu, NeverCostsMore) {
  Draw draw(GetParam());
  int compared = 0;
  for (int i = 0; i < 12; ++i) {
    const GpuSpec gpu = random_part(draw);
    for (int j = 0; j < 12; ++j) {
      const Kernel kernel = random_kernel(draw);
      const double before = price(kernel, gpu);
      if (before == 0) continue;
      for (const Knob& knob : knobs()) {
        GpuSpec better = gpu;
        const double factor = draw.one_of({1.1, 1.5, 2.0, 4.0});
        knob.turn(better, factor);
        ASSERT_LE(price(kernel, better), before * 1.01)
            << kernel_name(kernel) << " on " << gpu.name << ' ' << gpu.architecture << " with "
            << knob.name << " x " << factor << ", seed " << GetParam() << ", GPU " << i
            << ", kernel " << j;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BetterGpu, testing::Range(1U, 9U));

struct Limit {
  const char* what;
  Kernel kernel;
  const char* knob;
  double by;     // the knob's factor, below 1
  double least;  // times the price at least
};

TEST_F(GpuPrices, EveryNumberMattersWhereItBinds) {
  const Implementation cold = {Framework::vllm, KernelSource::automatic, true};
  const Implementation warm = {Framework::vllm, KernelSource::automatic, false};
  const Kernel product = Gemm{8192, 8192, 8192, DType::bf16, cold};
  const Kernel prompt = Attention{.query_heads = 32,
                                  .kv_heads = 8,
                                  .head_dim = 64,
                                  .load = AttentionLoad::exact({{8192, 8192}}),
                                  .implementation = cold};
  const Kernel decode =
      Attention{.query_heads = 32,
                .kv_heads = 8,
                .head_dim = 128,
                .load = AttentionLoad::exact(std::vector<SequenceSlice>(64, {1, 4096})),
                .implementation = cold};
  const Kernel experts = FusedMoe{.tokens = 4096,
                                  .experts = 64,
                                  .topk = 8,
                                  .hidden = 4096,
                                  .intermediate = 2048,
                                  .dtype = DType::bf16,
                                  .implementation = cold};
  const Limit limits[] = {
      {"product", product, "SMs", 0.5, 1.6},
      {"product", product, "clock", 0.5, 1.6},
      {"product", product, "tensor", 0.25, 2.2},
      {"product", product, "registers", 0.125, 1.2},
      {"product", product, "shared_size", 0.125, 1.2},
      {"product", product, "shared", 1.0 / 32, 1.2},
      {"product", product, "power", 0.25, 1.5},
      {"product of few rows", Gemm{16, 8192, 8192, DType::bf16, cold}, "dram", 0.25, 2.0},
      {"small product", Gemm{16, 1024, 1024, DType::bf16, warm}, "launch", 0.5, 1.2},
      {"prompt", prompt, "tensor", 0.25, 1.5},
      {"prompt", prompt, "xu", 0.1, 1.5},
      {"prompt", prompt, "registers", 0.25, 1.2},
      {"prompt", prompt, "power", 0.125, 1.2},
      {"decode", decode, "dram", 0.5, 1.6},
      {"decode", decode, "l2", 1.0 / 32, 1.5},
      {"decode", decode, "SMs", 0.0625, 1.3},
      {"experts", experts, "tensor", 0.25, 1.5},
      {"experts", experts, "registers", 0.25, 1.2},
      {"experts", experts, "shared_size", 0.125, 1.2},
      {"norm", RmsNorm{16'384, 8192, DType::bf16, true}, "dram", 0.5, 1.5},
      {"norm", RmsNorm{16'384, 8192, DType::bf16, true}, "fma", 0.01, 1.3},
  };
  for (const char* name : {"h200-sxm", "b200-sxm", "a100-sxm", "l40s"}) {
    for (const Limit& limit : limits) {
      GpuSpec gpu = load_gpu(name, {});
      // At the power limit fewer or slower SMs cost less than they do otherwise.
      if (limit.knob != std::string_view("power")) gpu.power *= 8;
      const double ratio =
          price(limit.kernel, turned(gpu, limit.knob, limit.by)) / price(limit.kernel, gpu);
      EXPECT_GE(ratio, limit.least)
          << limit.what << " on " << name << " with " << limit.knob << " x " << limit.by;
    }
  }
}

TEST_F(GpuPrices, CopyOfAPartCostsWhatThePartCosts) {
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  GpuSpec copy = gpu;
  copy.name = "my-h100";
  copy.price = DollarsPerHour(1);
  Draw draw(1);
  for (int i = 0; i < 100; ++i) {
    const Kernel kernel = random_kernel(draw);
    EXPECT_EQ(price(kernel, copy), price(kernel, gpu)) << kernel_name(kernel) << ", kernel " << i;
  }
}

}  // namespace
}  // namespace foretoken

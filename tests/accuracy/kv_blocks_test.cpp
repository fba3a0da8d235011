// KV blocks that engines made of a GPU's memory against the plan: a recorded run of vLLM
// (FORETOKEN_DATA/serving), lines of public logs, and what was measured on an H200. Prints both and
// the difference; no constant of the plan was chosen to meet one of these numbers alone
// (sim/serving/memory_plan.cpp says where each is from).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "hardware/cluster.hpp"
#include "sim/base/json.hpp"
#include "sim/serving/memory_plan.hpp"

namespace foretoken {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const Value& at(const Value& root, std::initializer_list<const char*> keys) {
  const Value* value = &root;
  for (const char* key : keys) {
    value = value->find(key);
    FORETOKEN_CHECK(value != nullptr, "no {}", key);
  }
  return *value;
}

std::int64_t integer(const Value& root, std::initializer_list<const char*> keys) {
  return std::get<std::int64_t>(at(root, keys).data);
}

/// Relative, computed against recorded; printed.
double error(const std::string& what, double computed, double recorded) {
  const double relative = computed / recorded - 1.0;
  fmt::print("{:<60} computed {:>9.0f} recorded {:>9.0f} {:+.2f} %\n", what, computed, recorded,
             100.0 * relative);
  return relative;
}

TEST(KvBlocks, OfTheRecordedRun) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const std::string path = std::string(folder) + "/serving/vllm_rtx4090_llama31_8b/vllm/meta.json";
  const Value meta = parse_json(text_of(path), {path});
  const MemoryLimits limits{
      {.batch_tokens_max = integer(meta, {"engine_kwargs", "max_num_batched_tokens"}),
       .sequences_max = static_cast<int>(integer(meta, {"engine_kwargs", "max_num_seqs"}))},
      {.memory_utilization =
           std::get<double>(at(meta, {"kv_cache", "gpu_memory_utilization"}).data)}};
  ExecutionSettings execution;
  execution.block_tokens = static_cast<int>(integer(meta, {"kv_cache", "block_size"}));
  const GpuSpec gpu = load_gpu("rtx-4090", {});
  const Transformer model = load_model("llama-3.1-8b", {});
  const auto recorded = static_cast<double>(integer(meta, {"kv_cache", "num_gpu_blocks"}));
  const auto blocks = [&](const GpuSpec& on) {
    return static_cast<double>(plan_memory(model, {}, execution, on, limits).kv_blocks);
  };
  EXPECT_LT(std::abs(error("Llama 3.1 8B, RTX 4090, vLLM 0.19.0", blocks(gpu), recorded)), 0.05);
  GpuSpec unseen = gpu;
  unseen.memory_visible.reset();
  EXPECT_LT(std::abs(error("  what the driver keeps by the line", blocks(unseen), recorded)), 0.05);
}

struct Logged {
  const char* what;
  const char* gpu;
  const char* model;
  DType dtype;
  int tensor;
  MemoryLimits limits;
  double tokens;  // "GPU KV cache size", "#tokens"
  double bound;
};

TEST(KvBlocks, OfPublicLogs) {
  for (const Logged& log : {
           Logged{"Llama 3.1 8B, A100 80 GB, vLLM 0.31",
                  "a100-sxm",
                  "llama-3.1-8b",
                  DType::bf16,
                  1,
                  {{.batch_tokens_max = 8192, .sequences_max = 256},
                   {.memory_utilization = 0.92, .graphs_in_share = true}},
                  460'496,
                  0.05},
           // github.com/vllm-project/vllm/issues/21348.
           Logged{"Qwen3 235B A22B fp8, 4 x H100, SGLang of July 2025",
                  "h100-sxm",
                  "qwen3-235b-a22b",
                  DType::fp8_block,
                  4,
                  {{}, {.memory_rule = MemoryRule::static_fraction, .memory_utilization = 0.93}},
                  367'404,
                  0.05},
       }) {
    ParallelLayout layout;
    layout.tensor = log.tensor;
    ExecutionSettings execution;
    execution.dtype = log.dtype;
    const MemoryPlan plan = plan_memory(load_model(log.model, {}), layout, execution,
                                        load_gpu(log.gpu, {}), log.limits);
    EXPECT_LT(std::abs(error(log.what, 16.0 * static_cast<double>(plan.kv_blocks), log.tokens)),
              log.bound);
  }
}

TEST(KvBlocks, PiecesMeasuredOnAnH200) {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/calibration/datasets/h200/memory_footprint.csv");
  std::map<std::string, double> measured;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("quantity")) continue;
    const auto unit = line.rfind(',');
    const auto value = line.rfind(',', unit - 1);
    measured[line.substr(0, value)] = std::stod(line.substr(value + 1, unit - value - 1));
  }
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  EXPECT_EQ(gpu.usable_memory().value(), measured.at("cuda_total,mem_get_info"));

  // Sampling, a row and a token of the vocabulary: the slope of the plan's activations.
  const Transformer model = load_model("llama-3.1-8b", {});
  const auto activations = [&](int sequences) {
    const MemoryLimits limits{{.batch_tokens_max = 4096, .sequences_max = sequences}, {}};
    return plan_memory(model, {}, {}, gpu, limits).activations.value();
  };
  const double slope =
      (activations(2000) - activations(1000)) / 1000.0 / static_cast<double>(model.vocabulary);
  const double bytes = measured.at("sampler_peak,softmax and exponential: bytes a row and token");
  EXPECT_LT(std::abs(error("sampling, mB a row and token", 1e3 * slope, 1e3 * bytes)), 0.01);

  const MemoryPlan plan = plan_memory(model, {}, {}, gpu, {});
  const double mib = 1048576.0;
  EXPECT_LT(std::abs(error("CUDA context, MiB", plan.context.value() / mib,
                           measured.at("context,after the first allocation") / mib)),
            0.25);
  EXPECT_LT(std::abs(error("code and workspaces with graphs, MiB", plan.runtime.value() / mib,
                           measured.at("non_torch_growth,graphs") / mib)),
            0.25);

  const NodeSpec node = load_cluster("h200-sxm-8", {}).node;
  const double rate = node.host_link_bandwidth.value() * node.host_link_efficiency / 1e9;
  for (const char* way : {"copy,h2d 1 GiB", "copy,d2h 1 GiB"}) {
    EXPECT_LT(std::abs(error(fmt::format("{}, MB/s", way), 1e3 * rate, 1e3 * measured.at(way))),
              0.01);
  }
}

}  // namespace
}  // namespace foretoken

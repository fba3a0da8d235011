// Names and flags that servers write down, as what they mean here.

#include "sim/scenario/recorded_engine.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/toml.hpp"
#include "sim/scenario/recorded_names.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

TEST(RecordedNames, ModelsByTheirHuggingFaceIds) {
  EXPECT_EQ(model_called("meta-llama/Llama-3.1-8B-Instruct", {}), "llama-3.1-8b");
  EXPECT_EQ(model_called("meta-llama/Meta-Llama-3.1-70B", {}), "llama-3.1-70b");
  EXPECT_EQ(model_called("Qwen/Qwen3-235B-A22B-FP8", {}), "qwen3-235b-a22b");
  EXPECT_EQ(model_called("openai/gpt-oss-120b", {}), "gpt-oss-120b");
  EXPECT_EQ(model_called("qwen3-8b", {}), "qwen3-8b");
  EXPECT_THROW((void)model_called("Qwen/Qwen9-8B", {}), ConfigError);
}

TEST(RecordedNames, GpusByTheirDevices) {
  EXPECT_EQ(gpu_called("NVIDIA GeForce RTX 4090", {}), "rtx-4090");
  EXPECT_EQ(gpu_called("NVIDIA H100 80GB HBM3", {}), "h100-sxm");
  EXPECT_EQ(gpu_called("NVIDIA H200", {}), "h200-sxm");
  EXPECT_EQ(gpu_called("NVIDIA A100-SXM4-80GB", {}), "a100-sxm");
  EXPECT_EQ(gpu_called("NVIDIA A100 80GB PCIe", {}), "a100-pcie");
  EXPECT_EQ(gpu_called("NVIDIA L40S", {}), "l40s");
  EXPECT_EQ(gpu_called("NVIDIA L40", {}), "l40");
  EXPECT_EQ(gpu_called("NVIDIA RTX 6000 Ada Generation", {}), "rtx-6000-ada");
  EXPECT_THROW((void)gpu_called("NVIDIA A100", {}), ConfigError) << "SXM or PCIe";
  EXPECT_THROW((void)gpu_called("NVIDIA Titan X", {}), ConfigError);
}

std::filesystem::path file_of(const std::string& name, const std::string& text) {
  const std::filesystem::path path = own_folder() / name;
  std::ofstream(path) << text;
  return path;
}

TEST(RecordedEngine, TakesFlagsRecordedBlocksAndHardware) {
  const RecordedEngine recorded =
      load_recorded_engine(file_of("meta.json", R"({"model": "Qwen/Qwen3-32B",
        "engine_kwargs": {"tensor_parallel_size": 2, "max_num_seqs": 64, "swap_space": 4,
                          "frobnicate": 1, "speculative_config": {"method": "ngram"},
                          "enforce_eager": true},
        "kv_cache": {"num_gpu_blocks": 1234, "enable_prefix_caching": false},
        "resolved_config": {"scheduler_config": {"async_scheduling": false,
                                                 "max_num_batched_tokens": 4096}},
        "hardware": {"device_name": "NVIDIA H200"}})"),
                           "", "");
  EXPECT_EQ(to_toml(recorded.scenario),
            "[model]\nname = \"qwen3-32b\"\n\n[cluster]\nname = \"h200-sxm-2\"\n\n"
            "[deployment]\ntensor_parallel = 2\npipeline_parallel = 1\n\n"
            "[engine]\npreset = \"vllm-v1\"\nsequences_max = 64\nprefix_caching = false\n"
            "kv_blocks = 1234\nbatch_tokens_max = 4096\nasync_scheduling = false\n"
            "cuda_graph_sizes = []\n");
  // What makes no difference is no news; what is not taken over is.
  EXPECT_EQ(recorded.notes, (std::vector<std::string>{"frobnicate", "speculative_config"}));
}

}  // namespace
}  // namespace foretoken

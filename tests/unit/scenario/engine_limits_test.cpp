// Limits that presets work out: by attention ranks, by contexts.
#include <gtest/gtest.h>

#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken::engine_limits_test {
namespace {

Scenario read(const std::string& model, const std::string& cluster, const std::string& rest) {
  return read_scenario(
      parse_toml("[model]\nname = \"" + model + "\"\n[cluster]\nname = \"" + cluster +
                     "\"\n[workload]\narrivals = \"all_at_once\"\nrequests = 1\n"
                     "prompt_tokens = 1\noutput_tokens = 1\n" +
                     rest,
                 "s.toml"),
      {"."});
}

// A step of vLLM holds the longest prompt where none is cut into chunks, unless it is set.
TEST(EngineLimits, VllmsStepHoldsAWholePrompt) {
  const auto tokens = [](const std::string& engine) {
    const Scenario scenario =
        read("llama-3.1-8b", "l40s-1", "[engine]\npreset = \"vllm-v1\"\n" + engine);
    const Scenario again = read_scenario(resolved_scenario(scenario), {"."});
    EXPECT_EQ(again.engine.batch_tokens_max, scenario.engine.batch_tokens_max);
    return scenario.engine.batch_tokens_max;
  };
  EXPECT_EQ(tokens(""), 2048);
  EXPECT_EQ(tokens("chunked_prefill = false"), 131072) << "the model's context";
  EXPECT_EQ(tokens("no_enable_chunked_prefill = true\nmax_model_len = 8192"), 8192);
  EXPECT_EQ(tokens("chunked_prefill = false\ncontext_max = 1024"), 2048);
  EXPECT_EQ(tokens("chunked_prefill = false\nmax_num_batched_tokens = 4096"), 4096);
  EXPECT_EQ(tokens("max_model_len = \"auto\""), 2048);
}

// --enable-dp-attention: limits are the server's, and its classes go by all of its GPUs.
TEST(EngineLimits, SglangsAttentionRanksShareTheServersChunk) {
  const auto option = [](const Scenario& scenario, const std::string& name) {
    const Value* value = scenario.engine.scheduler.options.find(name);
    const auto* count = std::get_if<std::int64_t>(&value->data);
    return count != nullptr ? static_cast<double>(*count) : std::get<double>(value->data);
  };
  const auto read_with = [](const std::string& layout, const std::string& engine) {
    return read("deepseek-v2-lite", "h100-sxm-8",
                layout + "[engine]\npreset = \"sglang\"\n" + engine);
  };
  const Scenario one = read_with("", "");
  EXPECT_EQ(option(one, "chunk_tokens"), 8192);
  EXPECT_EQ(option(one, "conservativeness"), 1.0);
  EXPECT_EQ(one.engine.host.cuda_graph_sizes.back(), 256);
  const std::string ranks = "[deployment]\ndata_parallel_attention = 8\n";
  const Scenario eight = read_with(ranks, "");
  EXPECT_EQ(option(eight, "chunk_tokens"), 1024);
  EXPECT_EQ(option(eight, "conservativeness"), 0.3);
  EXPECT_EQ(eight.engine.sequences_max, 2048) << "of each rank";
  EXPECT_EQ(eight.engine.host.cuda_graph_sizes.back(), 512);
  EXPECT_EQ(eight.engine.memory_utilization, 0.818);
  const Scenario flags =
      read_with(ranks, "chunked_prefill_size = 32768\nmax_running_requests = 512\n");
  EXPECT_EQ(option(flags, "chunk_tokens"), 4096);
  EXPECT_EQ(flags.engine.sequences_max, 64);
  const Scenario again = read_scenario(resolved_scenario(flags), {"."});
  EXPECT_EQ(option(again, "chunk_tokens"), 4096);
  EXPECT_EQ(again.engine.sequences_max, 64);
}

}  // namespace
}  // namespace foretoken::engine_limits_test

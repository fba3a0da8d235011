// How engines bring tokens to experts on other ranks: by version, GPU and layout, and by name.

#include "kernels/communication/engine_exchange.hpp"

#include <gtest/gtest.h>

#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

constexpr ExchangeSite hopper{.gpu = "h200-sxm", .ranks = 8, .topk = 8};

std::string does(std::string_view name, const ExchangeSite& site = hopper) {
  return exchange_text(settle_exchange(name, {Framework::vllm, ""}, site).exchange);
}

// vLLM's naive manager all-reduced until AgRsAll2AllManager became the default; SGLang pads decode
// steps alone, since a prompt's ranks are unequal.
TEST(EngineExchange, FollowsTheVersion) {
  EXPECT_EQ(does("vllm-0.10.2"), "all_reduce");
  EXPECT_EQ(does("vllm-0.11.0"), "all_gather");
  EXPECT_EQ(does("vllm"), "all_gather");
  EXPECT_EQ(does("sglang-0.4.9"), "all_reduce");
  EXPECT_EQ(does("sglang-0.5.1"), "all_gather");
  EXPECT_EQ(does("sglang-0.5.9"), "all_reduce (prompts), all_gather (decodes)");
  EXPECT_EQ(does("sglang-0.1"), "all_reduce") << "older than all: as the oldest";
}

TEST(EngineExchange, OfTensorRtLlmFollowsTheGpuAndTheRanks) {
  const ExchangeSite rack{.gpu = "gb200", .ranks = 16, .topk = 8};
  const ExchangeSite few{.gpu = "gb200", .ranks = 8, .topk = 8};
  const ExchangeSite board{.gpu = "b200-sxm", .ranks = 16, .topk = 8};
  EXPECT_EQ(does("trtllm-1.0", rack), "all_to_all");
  EXPECT_EQ(does("trtllm-1.0", few), "all_gather") << "no more ranks than experts a token";
  EXPECT_EQ(does("trtllm-1.0", board), "all_gather") << "no Arm host";
  EXPECT_EQ(does("trtllm-1.2", few), "all_to_all");
  EXPECT_EQ(does("trtllm-1.2", board), "all_to_all");
  EXPECT_EQ(does("trtllm", hopper), "all_gather");
}

TEST(EngineExchange, AutoIsTheEnginesOwn) {
  const SettledExchange own = settle_exchange("auto", {Framework::sglang, "0.5.8"}, hopper);
  EXPECT_EQ(own.exchange.prompts, ExchangeMethod::all_reduce);
  EXPECT_EQ(own.exchange.decodes, ExchangeMethod::all_gather);
  EXPECT_EQ(own.chosen_by,
            "sglang since 0.5.3: dp_attention.py, get_dp_padding_mode: SUM_LEN with prompts");
  EXPECT_EQ(settle_exchange("auto", {Framework::pytorch, ""}, hopper).exchange, ExpertExchange());
}

TEST(EngineExchange, ANameIsAWayForAllSteps) {
  EXPECT_EQ(does("all_reduce"), "all_reduce");
  EXPECT_EQ(does("deepep_normal"), "deepep_normal");
  EXPECT_EQ(does("deepep"), "deepep_normal (prompts), deepep_low_latency (decodes)");
  EXPECT_EQ(exchange_called("deepep")->decode_tokens_max, 128);
  EXPECT_TRUE(exchange_called("deepep")->needs_whole_experts());
  EXPECT_TRUE(exchange_called("all_gather")->quantised.empty());
  for (const std::string_view name : exchange_names()) EXPECT_TRUE(is_exchange_name(name)) << name;
  EXPECT_TRUE(is_exchange_name("sglang-0.5.9"));
  for (const std::string_view name : {"", "deep_ep", "sglang-", "pytorch", "vllm-latest"})
    EXPECT_FALSE(is_exchange_name(name)) << name;
}

TEST(EngineExchange, EveryEngineSaysWhereItIsFrom) {
  for (const Framework engine : {Framework::vllm, Framework::sglang, Framework::trtllm})
    EXPECT_NE(ExchangeChoices::built_in().find({engine, ""}, hopper), nullptr);
  for (const ExchangeChoice& choice : ExchangeChoices::built_in().choices()) {
    EXPECT_FALSE(choice.source.empty());
    EXPECT_TRUE(choice.condition().starts_with("since ")) << choice.condition();
  }
}

TEST(EngineExchange, AFileTellsAllItsMistakes) {
  const std::string text =
      "engine = \"vllm\"\n[[choice]]\nsince = \"1\"\nprompts = \"all_gathr\"\n"
      "decodes = \"all_gather\"\nquantised = [\"fp9\"]\n";
  try {
    (void)read_exchange_choices(parse_toml(text, "own.toml"));
    FAIL() << "read";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("own.toml:4"), std::string::npos) << message;
    EXPECT_NE(message.find("quantised: must name formats of weights"), std::string::npos);
    EXPECT_NE(message.find("source"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace foretoken

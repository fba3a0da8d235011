// From launch lines and manifests to scenarios.
#include <gmock/gmock.h>

#include "tests/unit/deployments/imported.hpp"

namespace foretoken::import_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Import, EveryFlagHasAFate) {
  const LaunchedScenario found = imported(
      "vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --port 1 --cpu-offload-gb 4 --such-a-flag 3");
  ASSERT_EQ(found.flags.size(), 4U);
  EXPECT_EQ(fate_of(found, "--max-num-seqs"), FlagFate::set);
  EXPECT_EQ(fate_of(found, "--port"), FlagFate::no_effect);
  EXPECT_EQ(fate_of(found, "--cpu-offload-gb"), FlagFate::not_modelled);
  EXPECT_EQ(fate_of(found, "--such-a-flag"), FlagFate::unknown);
}

TEST(Import, ASwitchBeforeTheModelTakesNoValue) {
  const LaunchedScenario found = imported("vllm serve --enforce-eager -tp=2 Qwen/Qwen3-8B");
  EXPECT_EQ(table(found, "model"), R"({"name":"qwen3-8b"})");
  EXPECT_EQ(table(found, "engine"), R"({"preset":"vllm-v1","cuda_graph_sizes":[]})");
  EXPECT_THAT(table(found, "deployment"), HasSubstr(R"("tensor_parallel":2)"));
}

TEST(Import, SwitchesOfVllmTakeNoModel) {
  for (const char* name : {"--async-scheduling", "--language-model-only"}) {
    const std::string line = fmt::format("vllm serve {} Qwen/Qwen3-8B", name);
    EXPECT_EQ(table(imported(line), "model"), R"({"name":"qwen3-8b"})") << name;
  }
}

TEST(Import, AContextThatVllmChoosesIsTheModels) {
  for (const char* value : {"auto", "-1", "Auto"}) {
    const LaunchedScenario found =
        imported(std::string("vllm serve Qwen/Qwen3-8B --max-model-len ") + value);
    EXPECT_EQ(table(found, "engine"), R"({"preset":"vllm-v1"})") << value;
    EXPECT_EQ(fate_of(found, "--max-model-len"), FlagFate::no_effect);
  }
}

TEST(Import, CapsOfTheKvCache) {
  const LaunchedScenario sglang = imported(
      "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --max-total-tokens 65536");
  EXPECT_EQ(fate_of(sglang, "--max-total-tokens"), FlagFate::set);
  EXPECT_EQ(table(sglang, "engine"), R"({"preset":"sglang","kv_tokens_max":65536})");
}

TEST(Import, SizesAsPeopleWriteThem) {
  EXPECT_THAT(table(imported("vllm serve Qwen/Qwen3-8B --max-model-len 32k"), "engine"),
              HasSubstr("32000"));
  EXPECT_THAT(table(imported("vllm serve Qwen/Qwen3-8B --max-model-len 32K"), "engine"),
              HasSubstr("32768"));
}

TEST(Import, FormatsOfWeights) {
  EXPECT_EQ(table(imported("vllm serve Qwen/Qwen3-8B -q fp8 --kv-cache-dtype fp8_e4m3"), "model"),
            R"({"name":"qwen3-8b","dtype":"fp8","kv_dtype":"fp8"})");
  const LaunchedScenario unknown = imported("vllm serve Qwen/Qwen3-8B -q hqq");
  EXPECT_EQ(fate_of(unknown, "--quantization"), FlagFate::not_modelled);
}

TEST(Import, SharedContextsAsEachEngineCountsThem) {
  const std::string vllm =
      table(imported("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -dcp 4"), "deployment");
  EXPECT_THAT(vllm, HasSubstr(R"("tensor_parallel":8)"));
  EXPECT_THAT(vllm, HasSubstr(R"("decode_context_parallel":4)"));
  const std::string sglang =
      table(imported("python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 "
                     "--dcp-size 8"),
            "deployment");
  EXPECT_THAT(sglang, HasSubstr(R"("decode_context_parallel":8)"));
  const std::string prompts =
      table(imported("python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 "
                     "--attn-cp-size 4"),
            "deployment");
  EXPECT_THAT(prompts, HasSubstr(R"("tensor_parallel":2)"));
  EXPECT_THAT(prompts, HasSubstr(R"("prefill_context_parallel":4)"));
  // Helix: attention is cut in two, and each half's contexts in four.
  const std::string helix =
      table(imported("trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 2 --cp_size 4"), "deployment");
  EXPECT_THAT(helix, HasSubstr(R"("tensor_parallel":8)"));
  EXPECT_THAT(helix, HasSubstr(R"("decode_context_parallel":4)"));
}

TEST(Import, AttentionRanksAsEachEngineCountsThem) {
  const std::string vllm =
      table(imported("vllm serve deepseek-ai/DeepSeek-V3 -tp 2 -dp 8 --enable-expert-parallel"),
            "deployment");
  EXPECT_THAT(vllm, HasSubstr(R"("tensor_parallel":2)"));
  EXPECT_THAT(vllm, HasSubstr(R"("data_parallel_attention":8)"));
  EXPECT_THAT(vllm, HasSubstr(R"("expert_parallel":16)"));
  const std::string sglang =
      table(imported("python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 "
                     "--dp 8 --enable-dp-attention --moe-a2a-backend deepep"),
            "deployment");
  EXPECT_THAT(sglang, HasSubstr(R"("tensor_parallel":2)"));
  EXPECT_THAT(sglang, HasSubstr(R"("data_parallel_attention":8)"));
  EXPECT_THAT(sglang, HasSubstr(R"("expert_exchange":"deepep")"));
  // Another version than the preset's exchanges tokens its own way, which the version says.
  EXPECT_THAT(table(imported("docker run vllm/vllm-openai:v0.12.0 --model deepseek-ai/DeepSeek-V3 "
                             "-dp 8 --enable-expert-parallel"),
                    "engine"),
              HasSubstr(R"("version":"0.12.0")"));
  // One set of DeepEP's kernels for all steps.
  EXPECT_THAT(table(imported("vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --all2all-backend "
                             "deepep_low_latency"),
                    "deployment"),
              AllOf(HasSubstr(R"("expert_exchange":"deepep_low_latency")"),
                    HasSubstr(R"("expert_parallel":8)")));
  // Without experts to share, ranks of data parallelism are replicas.
  EXPECT_THAT(table(imported("vllm serve Qwen/Qwen3-8B -dp 4"), "deployment"),
              HasSubstr(R"("replicas":4)"));
}

// SGLang's limits are the whole server's, vLLM's are each rank's.
TEST(Import, AttentionRanksDivideTheServersLimits) {
  const std::string server =
      "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 "
      "--enable-dp-attention ";
  const std::string engine =
      table(imported(server + "--chunked-prefill-size 32768 --max-running-requests 1024 "
                              "--schedule-conservativeness 1"),
            "engine");
  EXPECT_THAT(engine, HasSubstr(R"("chunk_tokens":4096)"));
  EXPECT_THAT(engine, HasSubstr(R"("sequences_max":128)"));
  EXPECT_THAT(engine, HasSubstr(R"("conservativeness":0.3)"));
  EXPECT_THAT(table(imported(server + "--speculative-algorithm NEXTN "
                                      "--speculative-num-steps 1"),
                    "engine"),
              HasSubstr(R"("sequences_max":6)"))
      << "of the 48 that it allows itself";
  EXPECT_THAT(failure(server + "--max-running-requests 4"),
              HasSubstr("--max-running-requests is divided among 8 attention ranks, but 4 is less "
                        "than one for each"));
  EXPECT_THAT(
      table(imported("vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --max-num-seqs 128"), "engine"),
      HasSubstr(R"("sequences_max":128)"));
}

TEST(Import, ExpertsThatAreLaidOutByLoad) {
  const std::string vllm =
      table(imported("vllm serve deepseek-ai/DeepSeek-V3 -tp 1 -dp 16 --enable-expert-parallel "
                     "--enable-eplb --eplb-config '{\"num_redundant_experts\": 32}'"),
            "deployment");
  EXPECT_THAT(vllm, HasSubstr(R"("balance_experts":true)"));
  EXPECT_THAT(vllm, HasSubstr(R"("redundant_experts":32)"));
  const std::string sglang =
      table(imported("python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 "
                     "--ep-size 16 --enable-eplb --ep-num-redundant-experts 16"),
            "deployment");
  EXPECT_THAT(sglang, HasSubstr(R"("redundant_experts":16)"));
  // Without expert parallelism the switch does nothing.
  EXPECT_THAT(
      table(imported("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-eplb"), "deployment"),
      Not(HasSubstr("balance_experts")));
}

TEST(Import, Adapters) {
  const LaunchedScenario found = imported(
      "vllm serve Qwen/Qwen3-8B --enable-lora --max-loras 8 --max-cpu-loras 40 "
      "--lora-modules a=/a b=/b");
  EXPECT_THAT(table(found, "engine"),
              HasSubstr(R"("lora":{"adapters_max":8,"host_adapters":40,"rank":16})"));
  EXPECT_EQ(fate_of(found, "--max-loras"), FlagFate::set);
  EXPECT_EQ(fate_of(found, "--lora-modules"), FlagFate::not_modelled);
  const LaunchedScenario without = imported("vllm serve Qwen/Qwen3-8B --max-lora-rank 64");
  EXPECT_THAT(table(without, "engine"), Not(HasSubstr("lora")));
  EXPECT_EQ(fate_of(without, "--max-lora-rank"), FlagFate::no_effect);
}

TEST(Import, HowRanksShareAnImageEncoder) {
  const LaunchedScenario found =
      imported("vllm serve Qwen/Qwen3.5-27B -tp 2 --mm-encoder-tp-mode data");
  EXPECT_THAT(table(found, "engine"), HasSubstr(R"("encoder":{"parallel":"data"})"));
  EXPECT_EQ(fate_of(found, "--mm-encoder-tp-mode"), FlagFate::set);
  const LaunchedScenario text =
      imported("vllm serve Qwen/Qwen3-8B --mm-encoder-tp-mode data --limit-mm-per-prompt image=1");
  EXPECT_THAT(table(text, "engine"), Not(HasSubstr("encoder")));
  EXPECT_EQ(fate_of(text, "--mm-encoder-tp-mode"), FlagFate::no_effect);
  EXPECT_EQ(fate_of(text, "--limit-mm-per-prompt"), FlagFate::no_effect);
}

TEST(Import, DraftsOfEachEngine) {
  EXPECT_THAT(table(imported(R"(vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config )"
                             R"('{"method": "mtp", "num_speculative_tokens": 2}')"),
                    "engine"),
              HasSubstr(R"("method":"mtp","drafts":2)"));
  EXPECT_THAT(table(imported("vllm serve Qwen/Qwen3-8B --speculative-config.method ngram "
                             "--speculative-config.num_speculative_tokens 5"),
                    "engine"),
              HasSubstr(R"("method":"ngram","drafts":5)"));
  EXPECT_THAT(
      table(imported("sglang serve --model-path Qwen/Qwen3-8B --speculative-algorithm EAGLE3 "
                     "--speculative-num-steps 3 --speculative-num-draft-tokens 4"),
            "engine"),
      HasSubstr(R"("method":"eagle","drafts":3)"));
}

TEST(Import, DockerAndBash) {
  EXPECT_THAT(table(imported("docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.19.0 --model "
                             "Qwen/Qwen3-8B --max-num-seqs 7"),
                    "engine"),
              HasSubstr(R"("sequences_max":7)"));
  EXPECT_THAT(
      table(imported("nohup bash -c 'M=Qwen/Qwen3-8B; exec vllm serve $M --max-num-seqs 8'"),
            "engine"),
      HasSubstr(R"("sequences_max":8)"));
}

TEST(Import, TheImagesVersionIsTheEngines) {
  const auto of_image = [](const std::string& tag) {
    return imported("docker run vllm/vllm-openai:v" + tag + " --model Qwen/Qwen3-8B");
  };
  EXPECT_THAT(table(of_image("0.11.0"), "engine"), HasSubstr(R"("version":"0.11.0")"));
  EXPECT_TRUE(of_image("0.11.0").notes.empty());
  EXPECT_THAT(table(of_image("0.19.0"), "engine"), Not(HasSubstr("version")))
      << "which is the preset's own";
  const LaunchedScenario newer = of_image("0.35.0");
  EXPECT_THAT(table(newer, "engine"), HasSubstr(R"("version":"0.32")"));
  ASSERT_EQ(newer.notes.size(), 1U);
  EXPECT_EQ(newer.notes[0],
            "it is vLLM 0.35.0, but the preset vllm-v1 describes 0.11 to 0.32; treated as 0.32");
}

// TensorRT-LLM's options in a file: how long prompts wait for those of other attention ranks.
TEST(Import, AttentionRanksWaitForEachOthersPrompts) {
  const LaunchedScenario found = imported(
      "cat > options.yaml <<'EOF'\nenable_attention_dp: true\nattention_dp_config:\n"
      "  enable_balance: true\n  timeout_iters: 60\nEOF\n"
      "trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --ep_size 8 "
      "--extra_llm_api_options options.yaml\n");
  EXPECT_THAT(table(found, "engine"), HasSubstr(R"("rank_wait_steps":60)"));
  EXPECT_THAT(table(found, "deployment"), HasSubstr(R"("data_parallel_attention":8)"));
}

TEST(Import, MistakesSayWhatToDo) {
  EXPECT_THAT(failure("echo hello"),
              HasSubstr("no server in it runs vLLM, SGLang or TensorRT-LLM"));
  EXPECT_THAT(failure("vllm serve Qwen/Qwen3-8B", ""), HasSubstr("--cluster h100-sxm-1"));
  EXPECT_THAT(failure("vllm serve nobody/Knows-9B"), HasSubstr("--model names either"));
  EXPECT_THAT(failure("vllm serve Qwen/Qwen3-8B -tp two"),
              HasSubstr("--tensor-parallel-size must be a whole number"));
  EXPECT_THAT(failure("trtllm-serve Qwen/Qwen3-8B --config gone.yaml"),
              HasSubstr("--config names gone.yaml, which cannot be read"));
  EXPECT_THAT(failure("vllm serve Qwen/Qwen3-8B stray"), HasSubstr("'stray' follows the model"));
}

/// A server that computes prompts beside one that decodes, as launch lines.
std::string apart(const std::string& prefill_config, const std::string& decode_config) {
  const std::string serve = "vllm serve Qwen/Qwen3-8B --kv-transfer-config '";
  return serve + R"({"kv_connector":"NixlConnector","kv_role":"kv_producer")" + prefill_config +
         "}' --port 1 &\n" + serve + R"({"kv_connector":"NixlConnector","kv_role":"kv_consumer")" +
         decode_config + "}' --port 2\n";
}

TEST(Import, LostCachesAreUpToTheServersThatWaitForThem) {
  const std::string recompute = R"(,"kv_load_failure_policy":"recompute")";
  const LaunchedScenario found = imported(apart("", recompute));
  EXPECT_EQ(table(found, "deployment"), R"({"kv_load_failure":"recompute"})");
  EXPECT_THAT(found.flags.at(2).meaning,
              HasSubstr("[pool] role = decode, [deployment] kv_load_failure = recompute"));
  EXPECT_EQ(imported(apart("", "")).tables.find("deployment"), nullptr);
  EXPECT_EQ(imported(apart(recompute, "")).tables.find("deployment"), nullptr);
  const std::string both =
      R"(vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_role":"kv_both")" + recompute + "}'";
  EXPECT_THAT(imported(both).flags.at(0).meaning,
              HasSubstr("kv_load_failure = recompute, if other servers compute the prompts"));
  EXPECT_THAT(failure(apart("", R"(,"kv_load_failure_policy":"retry")")),
              HasSubstr("unknown kv_load_failure_policy 'retry'"));
}

TEST(Import, ManifestsAreToldByTheirContent) {
  const std::filesystem::path folder =
      std::filesystem::path(FORETOKEN_SOURCE_DIR) / "examples/deployments";
  const std::pair<const char*, std::size_t> files[] = {
      {"shell.sh", 1},   {"trtllm.sh", 1},   {"compose.yaml", 1},         {"kubernetes.yaml", 1},
      {"llm_d.yaml", 2}, {"dynamo.yaml", 2}, {"production_stack.yaml", 2}};
  for (const auto& [file, servers] : files) {
    EXPECT_EQ(read_deployment((folder / file).string(), "").servers.size(), servers) << file;
  }
  const LaunchedDeployment stack =
      read_deployment((folder / "production_stack.yaml").string(), "reasoning");
  EXPECT_EQ(stack.servers[0].nodes, 2);
  const LaunchedDeployment graph = read_deployment((folder / "dynamo.yaml").string(), "prefill");
  ASSERT_EQ(graph.servers.size(), 1U);
  EXPECT_EQ(graph.servers[0].replicas, 2);
}

}  // namespace
}  // namespace foretoken::import_test

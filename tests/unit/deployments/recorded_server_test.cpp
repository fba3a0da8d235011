// What is written down about servers of recorded runs, as scenarios: meta.json, logs, launch lines.

#include "sim/deployments/recorded_server.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "sim/base/toml.hpp"
#include "sim/deployments/python_value.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::recorded_server_test {
namespace {

using ::testing::HasSubstr;

std::filesystem::path folder_with(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = own_folder() / "recorded";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << text;
  return folder;
}

RecordedServer of_meta(const std::string& text, const RecordedChoices& choices = {}) {
  return find_recorded_server(folder_with("meta.json", text), choices);
}

std::string table(const RecordedServer& recorded, const char* name) {
  return to_toml(*recorded.scenario.find(name));
}

TEST(RecordedServer, TakesFlagsRecordedBlocksAndHardware) {
  const RecordedServer recorded = of_meta(R"({"model": "Qwen/Qwen3-32B",
        "engine_kwargs": {"tensor_parallel_size": 2, "max_num_seqs": 64, "swap_space": 4,
                          "frobnicate": 1, "enforce_eager": true},
        "kv_cache": {"num_gpu_blocks": 1234, "enable_prefix_caching": false},
        "resolved_config": {"scheduler_config": {"async_scheduling": false,
                                                 "max_num_batched_tokens": 4096},
                            "compilation_config": {"cudagraph_capture_sizes": [1, 2]}},
        "hardware": {"device_name": "NVIDIA H200"}})");
  EXPECT_EQ(table(recorded, "model"), "name = \"qwen3-32b\"\n");
  EXPECT_EQ(table(recorded, "cluster"), "name = \"h200-sxm-2\"\n");
  EXPECT_EQ(table(recorded, "deployment"),
            "tensor_parallel = 2\npipeline_parallel = 1\nreplicas = 1\n");
  EXPECT_EQ(table(recorded, "engine"),
            "preset = \"vllm-v1\"\nsequences_max = 64\ncuda_graph_sizes = []\n"
            "prefix_caching = false\nkv_blocks = 1234\nbatch_tokens_max = 4096\n"
            "async_scheduling = false\n");
  // What makes no difference is no news; what is not taken over is.
  ASSERT_EQ(recorded.notes.size(), 1U);
  EXPECT_THAT(recorded.notes[0], HasSubstr("frobnicate"));
}

TEST(RecordedServer, DataParallelExpertsShareAttentionRanks) {
  const auto deployment = [](const std::string& model, const std::string& flags) {
    return table(of_meta("{\"model\": \"" + model + "\", \"engine_kwargs\": {" + flags +
                         "}, \"hardware\": {\"device_name\": \"NVIDIA H200\"}}"),
                 "deployment");
  };
  const std::string both =
      R"("data_parallel_size": 2, "tensor_parallel_size": 4, "enable_expert_parallel": true)";
  EXPECT_THAT(deployment("Qwen/Qwen3-235B-A22B", both),
              HasSubstr("tensor_parallel = 4\npipeline_parallel = 1\ndata_parallel_attention = 2\n"
                        "expert_parallel = 8\n"));
  EXPECT_THAT(deployment("Qwen/Qwen3-32B", R"("data_parallel_size": 2)"),
              HasSubstr("replicas = 2"));
}

TEST(RecordedServer, MoreGpusThanTheNodeHadAreRefused) {
  const auto meta = [](const std::string& flags, int devices) {
    return fmt::format(R"({{"model": "Qwen/Qwen3-32B", "engine_kwargs": {{{}}}, "hardware":
        {{"device_name": "NVIDIA H200", "device_count": {}}}}})",
                       flags, devices);
  };
  const std::string two = R"("tensor_parallel_size": 2)";
  try {
    (void)of_meta(meta(two, 1));
    FAIL() << "served";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("meta.json: the flags in \"engine_kwargs\" use 2 GPUs, but "
                                        "\"hardware.device_count\" is 1: correct one of them, or "
                                        "name the cluster with --cluster (h200-sxm-1x2, if it was "
                                        "2 such nodes)"));
  }
  EXPECT_THROW((void)of_meta(meta(R"("data_parallel_size": 3)", 2)), ConfigError);
  // Unless somebody says which nodes; others on the node stand idle; whole nodes of eight are
  // usual.
  EXPECT_EQ(table(of_meta(meta(two, 1), {"", "h200-sxm-1x2", ""}), "cluster"),
            "name = \"h200-sxm-1x2\"\n");
  EXPECT_EQ(table(of_meta(meta(two, 4)), "cluster"), "name = \"h200-sxm-2\"\n");
  EXPECT_EQ(table(of_meta(meta(R"("tensor_parallel_size": 8, "pipeline_parallel_size": 2)", 8)),
                  "cluster"),
            "name = \"h200-sxm-8x2\"\n");
}

TEST(RecordedServer, TheGpuMayBeNamedElsewhere) {
  const std::string meta = R"({"model": "Qwen/Qwen3-32B", "engine_kwargs": {}})";
  EXPECT_EQ(table(of_meta(meta, {"", "h100-sxm-8", ""}), "cluster"), "name = \"h100-sxm-8\"\n");
  EXPECT_THROW((void)of_meta(meta), ConfigError);
}

TEST(RecordedServer, OlderVersionsKeepTheirDefaults) {
  const RecordedServer recorded = of_meta(R"({"model": "Qwen/Qwen3-32B", "vllm_version": "0.12.0",
                  "hardware": {"device_name": "NVIDIA H200"}})");
  EXPECT_THAT(table(recorded, "engine"), HasSubstr("version = \"0.12.0\""));
}

TEST(RecordedServer, ReadsVllmsLog) {
  const std::filesystem::path folder = folder_with(
      "server.log",
      "(APIServer pid=1) INFO 11-25 10:00:00 [api_server.py:1] vLLM API server version 0.19.0\n"
      "(APIServer pid=1) INFO 11-25 10:00:00 [utils.py:233] non-default args: {'model_tag': "
      "'Qwen/Qwen3-8B', 'model': 'Qwen/Qwen3-8B', 'port': 8001, 'tensor_parallel_size': 2, "
      "'enable_prefix_caching': False, 'max_model_len': 4096}\n"
      "INFO 11-25 10:01:00 [kv_cache_utils.py:868] GPU KV cache size: 393,216 tokens\n");
  const RecordedServer recorded = find_recorded_server(folder, {"", "h200-sxm-8", ""});
  EXPECT_EQ(table(recorded, "model"), "name = \"qwen3-8b\"\n");
  EXPECT_THAT(table(recorded, "deployment"), HasSubstr("tensor_parallel = 2"));
  EXPECT_EQ(table(recorded, "engine"),
            "preset = \"vllm-v1\"\nprefix_caching = false\ncontext_max = 4096\n"
            "kv_blocks = 24576\n");
  EXPECT_TRUE(recorded.notes.empty());
}

TEST(RecordedServer, ReadsSglangsLog) {
  const std::filesystem::path folder = folder_with(
      "server.log",
      "[2026-11-25 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', "
      "tokenizer_mode='auto', tp_size=2, quantization=None, mem_fraction_static=0.8, "
      "chunked_prefill_size=4096, hooks=<function f at 0x7f>, disable_radix_cache=True)\n"
      "[2026-11-25 10:01:00 TP0] max_total_num_tokens=367404, chunked_prefill_size=4096\n");
  const RecordedServer recorded = find_recorded_server(folder, {"", "h100-sxm-8", ""});
  EXPECT_EQ(table(recorded, "engine"),
            "preset = \"sglang\"\nmemory_utilization = 0.8\nchunk_tokens = 4096\n"
            "prefix_caching = false\nkv_blocks = 367404\n");
}

// The log lists what the ranks have made of the flags, but the sequences of the whole server.
TEST(RecordedServer, ReadsEachAttentionRanksChunkInSglangsLog) {
  const std::filesystem::path folder = folder_with(
      "server.log",
      "server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, dp_size=8, "
      "enable_dp_attention=True, max_running_requests=512, chunked_prefill_size=1024, "
      "schedule_conservativeness=0.3)\n");
  const RecordedServer recorded = find_recorded_server(folder, {"", "h200-sxm-8", ""});
  EXPECT_EQ(table(recorded, "engine"),
            "preset = \"sglang\"\nsequences_max = 64\nchunk_tokens = 1024\n"
            "conservativeness = 0.3\n");
}

TEST(RecordedServer, ALogThatIsCutOffSaysWhere) {
  const auto folder = folder_with("server.log", "x\nnon-default args: {'model': 'Qwen/Qw\n");
  try {
    (void)find_recorded_server(folder, {"", "h100-sxm-8", ""});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("server.log:2"));
    EXPECT_THAT(error.what(), HasSubstr("cut off"));
  }
}

TEST(RecordedServer, ReadsALaunchLineBesideTheRequests) {
  const auto folder = folder_with("launch.sh", "vllm serve Qwen/Qwen3-8B --max-num-seqs 32\n");
  const RecordedServer recorded = find_recorded_server(folder, {"", "l40s-1", ""});
  EXPECT_EQ(table(recorded, "engine"), "preset = \"vllm-v1\"\nsequences_max = 32\n");
  EXPECT_EQ(table(recorded, "cluster"), "name = \"l40s-1\"\n");
}

TEST(RecordedServer, SaysThatTheRequestsAreOfAnotherModel) {
  const auto notes = [](const std::string& requested, const std::string& model = "") {
    const auto folder = folder_with(
        "server.log", "non-default args: {'model': 'Qwen/Qwen3-8B', 'served_model_name': ['q']}\n");
    return find_recorded_server(folder, {model, "h100-sxm-8", requested}).notes;
  };
  ASSERT_EQ(notes("meta-llama/Llama-3.1-8B").size(), 1U);
  EXPECT_THAT(notes("meta-llama/Llama-3.1-8B")[0],
              AllOf(HasSubstr("the requests are of meta-llama/Llama-3.1-8B, but "),
                    HasSubstr("server.log is of Qwen/Qwen3-8B"), HasSubstr("--model")));
  EXPECT_TRUE(notes("meta-llama/Llama-3.1-8B", "qwen3-8b").empty()) << "the user chose";
  for (const char* same : {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B-FP8", "qwen3-8b", "q", "an-alias", ""})
    EXPECT_TRUE(notes(same).empty()) << same;
  const auto folder = folder_with("launch.sh", "vllm serve Qwen/Qwen3-8B\n");
  EXPECT_EQ(find_recorded_server(folder, {"", "h100-sxm-8", "openai/gpt-oss-20b"}).notes.size(),
            1U);
}

TEST(RecordedServer, SaysWhatIsMissing) {
  try {
    (void)find_recorded_server(folder_with("notes.md", "nothing"), {});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("add meta.json"));
  }
}

TEST(PythonValue, ReadsWhatEnginesLog) {
  const auto text = [](const char* python) {
    const std::optional<Value> value = python_value(python);
    return value ? to_toml(*value) : "none";
  };
  EXPECT_EQ(text("{'a': 1, 'b': [1, 2.5], 'c': None, 'd': True} and more"),
            "a = 1\nb = [1, 2.5]\nd = true\n");
  EXPECT_EQ(text(R"(Args(a='it\'s', b=Kind.X, c=<f 'x>' at 1>, d=(1, 2)))"),
            "a = \"it's\"\nd = [1, 2]\n");
  EXPECT_EQ(text("{'a': 1"), "none");
  EXPECT_EQ(text("{'a' 1}"), "none");
}

}  // namespace
}  // namespace foretoken::recorded_server_test

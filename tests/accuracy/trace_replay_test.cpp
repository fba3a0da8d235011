// The public traces, whole: every request is served and accounted for. Wall time is not asserted;
// `foretoken_bench` and the README speak of it.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/properties/run_text.hpp"

namespace foretoken {
namespace {

/// The trace's path, or "" without FORETOKEN_DATA.
std::string trace_path(const std::string& name) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  return folder == nullptr ? "" : std::string(folder) + "/traces/" + name;
}

TEST(TraceReplay, AzureConversationsOnLlama70BOverFourH200) {
  const std::string path = trace_path("AzureLLMInferenceTrace_conv.csv.gz");
  if (path.empty()) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const Report report = run_scenario(
      scenario_from("[model]\nname = \"llama-3.1-70b\"\n[cluster]\nname = \"h200-sxm-4\"\n"
                    "[deployment]\ntensor_parallel = 4\n[workload]\ntrace = \"" +
                    path + "\"\n"),
      Catalogs());
  EXPECT_EQ(report.requests.arrived, 19'366);
  EXPECT_EQ(report.requests.completed, 19'366);
  EXPECT_GE(report.duration_s, 3'500.0);  // the trace spans 3,502 s
  EXPECT_LE(report.kv.peak, 1.0);
}

TEST(TraceReplay, MooncakeOnEightReplicasOfLlama8B) {
  const std::string path = trace_path("mooncake_conversation.jsonl.gz");
  if (path.empty()) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const Report report = run_scenario(
      scenario_from("[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"h200-sxm-8\"\n"
                    "[deployment]\nreplicas = 8\nrouter = \"least_outstanding\"\n"
                    "[workload]\ntrace = \"" +
                    path + "\"\n"),
      Catalogs());
  EXPECT_EQ(report.requests.arrived, 12'031);
  EXPECT_EQ(report.requests.completed + report.requests.failed, 12'031);
  EXPECT_EQ(report.requests.failed, 0);
}

}  // namespace
}  // namespace foretoken

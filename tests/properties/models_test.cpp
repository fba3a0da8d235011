// Several models on one cluster: each request is served by its own model's replicas, as if the
// others were not there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/own_folder.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::models_test {
namespace {

constexpr const char* before = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[predictor]
name = "roofline"
)";
constexpr const char* small_pool = R"(
[pool.small]
role = "both"
replicas = 2
)";
constexpr const char* large_pools = R"(
[pool.reads]
role = "prefill"
model = { name = "qwen3-0.6b" }
[pool.writes]
role = "decode"
model = { name = "qwen3-0.6b" }
tensor_parallel = 2
)";
constexpr const char* traffic = R"(
[workload]
arrivals = "interval"
rate = "16 /s"
prompt_tokens = 300
output_tokens = 60
)";

std::string both_models() {
  return std::string(before) + small_pool + large_pools + traffic +
         "requests = 200\nclasses = [{ model = \"llama-3.1-8b\", share = 1 }, { model = "
         "\"qwen3-0.6b\", share = 1, prompt_tokens = 500 }]\n";
}

Report run(const std::string& text) { return run_scenario(scenario_from(text), Catalogs()); }

TEST(ModelsProperties, EachRequestIsServedByItsOwnModel) {
  const Report report = run(both_models());
  ASSERT_EQ(report.models.size(), 2U);
  EXPECT_EQ(report.models[0].name, "llama-3.1-8b");
  EXPECT_EQ(report.models[0].arrived + report.models[1].arrived, 200);
  EXPECT_GT(report.models[1].arrived, 60);
  EXPECT_EQ(report.requests.completed, 200);
  EXPECT_EQ(report.gpus, 5);
  ASSERT_TRUE(report.cost.has_value());
  double sum = 0;
  for (const Report::Pool& pool : report.pools) sum += *pool.cost_per_hour;
  EXPECT_NEAR(report.cost->per_hour, sum, 1e-9);
  // Replicas count model by model: two small ones, one that reads, one that writes.
  for (const RequestRow& row : report.rows) {
    const bool is_large = row.model == "qwen3-0.6b";
    EXPECT_EQ(row.prompt_tokens, is_large ? 500 : 300);
    EXPECT_EQ(row.replica == 3, is_large) << row.id;
    EXPECT_EQ(row.handoff.has_value(), is_large);
  }
}

/// Sum of all latencies of a model's requests, in ms; "" = of all requests.
double latencies(const Report& report, const std::string& model) {
  double sum = 0;
  for (const RequestRow& row : report.rows) {
    if (row.model == model || model.empty()) sum += *row.ttft_ms + *row.e2e_ms;
  }
  return sum;
}

// Two schedulers, caches and sets of GPUs: each model does as it would alone on the same requests.
TEST(ModelsProperties, OneModelIsAsFastAsAlone) {
  const auto of_both = [](const std::string& model) {
    return in_child([&] { return latencies(run(both_models()), model); });
  };
  const std::filesystem::path file = own_folder() / "alone.csv";
  // The model's own requests, at their own dates, by the classes' draw.
  const auto alone = [&](const std::string& pools, int model) {
    return in_child([&] {
      const Scenario both = scenario_from(both_models());
      const auto source = both.workload->start(RandomStreams(both.run.seed));
      std::string lines = "arrival_s,prompt_tokens,output_tokens\n";
      while (const auto request = source->next()) {
        if (request->model != model) continue;
        lines += fmt::format("{},{},{}\n", request->arrival.value(), request->prompt_tokens,
                             request->output_tokens);
      }
      std::ofstream(file) << lines;
      return latencies(
          run(std::string(before) + pools + "[workload]\ntrace = \"" + file.string() + "\"\n"), "");
    });
  };
  const auto small = of_both("llama-3.1-8b"), large = of_both("qwen3-0.6b");
  ASSERT_TRUE(small && large);
  EXPECT_NEAR(*small, alone(small_pool, 0).value_or(-1), 1e-6 * *small);
  EXPECT_NEAR(*large, alone(large_pools, 1).value_or(-1), 1e-6 * *large);
}

// Which a plan of each model by itself goes by.
TEST(ModelsProperties, OnlyOneModelIsItsPartOfTheWhole) {
  for (const std::string model : {"llama-3.1-8b", "qwen3-0.6b"}) {
    const auto part = in_child([&] { return latencies(run(both_models()), model); });
    const auto alone = in_child([&] {
      const Scenario only = scenario_from(both_models(), {"run.only_model=" + model});
      const Report report = run_scenario(only, Catalogs());
      FORETOKEN_CHECK(report.requests.completed == report.requests.arrived, "all are served");
      FORETOKEN_CHECK(report.rows.back().id + 1 == report.rows.size(), "ids count what is left");
      return latencies(report, "");
    });
    ASSERT_TRUE(part && alone) << model;
    EXPECT_NEAR(*alone, *part, 1e-6 * *part) << model;
  }
}

}  // namespace
}  // namespace foretoken::models_test

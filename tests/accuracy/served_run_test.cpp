// Whole servers against what they measured: the figures that the README states, with a little room.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "sim/deployments/recorded_server.hpp"
#include "sim/run/run.hpp"
#include "sim/run/validation.hpp"

namespace foretoken {
namespace {

double difference(const LatencyRow& measured, const LatencyRow& simulated,
                  double LatencyRow::*member) {
  return std::abs(relative_difference(measured.*member, simulated.*member));
}

TEST(ServedRun, VllmOnAnRtx4090) {
  const char* data = std::getenv("FORETOKEN_DATA");
  if (data == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const std::filesystem::path folder =
      std::filesystem::path(data) / "serving/vllm_rtx4090_llama31_8b/vllm";
  const ServedRun measured = load_served_run(folder);
  RecordedServer recorded = load_recorded_server(folder / "meta.json", {});
  Value workload;
  workload.set("trace", measured.file.string());
  recorded.scenario.set("workload", std::move(workload));
  const Report simulated = run_scenario(read_scenario(recorded.scenario, {".", false}), Catalogs());
  const ValidationReport report = compare_with_recorded(measured, simulated);
  ASSERT_EQ(report.latencies.size(), 3U);
  const auto& [ttft, tpot, end_to_end] =
      std::tie(report.latencies[0], report.latencies[1], report.latencies[2]);
  EXPECT_LT(difference(ttft.measured, ttft.simulated, &LatencyRow::mean), 0.06);
  EXPECT_LT(difference(ttft.measured, ttft.simulated, &LatencyRow::p50), 0.06);
  EXPECT_LT(difference(tpot.measured, tpot.simulated, &LatencyRow::mean), 0.04);
  EXPECT_LT(difference(tpot.measured, tpot.simulated, &LatencyRow::p50), 0.04);
  EXPECT_LT(difference(end_to_end.measured, end_to_end.simulated, &LatencyRow::mean), 0.05);
  EXPECT_LT(difference(end_to_end.measured, end_to_end.simulated, &LatencyRow::p50), 0.085);
  EXPECT_LT(std::abs(relative_difference(report.figures[0].measured, report.figures[0].simulated)),
            0.04);
}

}  // namespace
}  // namespace foretoken

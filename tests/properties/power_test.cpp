// What a power cap does to a run: prompts, whose products draw the limit, take longer, decoding
// hardly does; and the energy is that of steps, of waiting, and of hosts where they are counted.
#include <gtest/gtest.h>

#include "sim/run/run.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

/// One request after the other on one GPU, `prompt` tokens in and `output` out.
Report run(const std::string& lengths, const std::vector<std::string>& overrides) {
  return run_scenario(scenario_from("[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = "
                                    "\"h100-sxm-1\"\n[workload]\narrivals = \"interval\"\nrate "
                                    "= \"0.25 /s\"\nrequests = 5\n" +
                                        lengths,
                                    overrides),
                      Catalogs());
}

double told(const std::string& lengths, const std::vector<std::string>& overrides,
            const std::function<double(const Report&)>& what) {
  return in_child([&] { return what(run(lengths, overrides)); }).value();
}

constexpr const char* prompts = "prompt_tokens = 8000\noutput_tokens = 1\n";
constexpr const char* answers = "prompt_tokens = 10\noutput_tokens = 200\n";

double ttft(const Report& report) { return report.ttft_ms.mean; }
double tpot(const Report& report) { return report.tpot_ms.mean; }

TEST(PowerCap, LengthensPromptsAndHardlyDecoding) {
  const double uncapped = told(prompts, {}, ttft);
  const double some = told(prompts, {"cluster.power_cap=500 W"}, ttft);
  const double much = told(prompts, {"cluster.power_cap=350 W"}, ttft);
  EXPECT_GT(some, 1.02 * uncapped);
  EXPECT_GT(much, 1.1 * some);
  EXPECT_LT(much, 3 * uncapped) << "half the power is no third of the rate";
  EXPECT_EQ(told(prompts, {"cluster.power_cap=700 W"}, ttft), uncapped) << "the board's own limit";
  EXPECT_LT(told(answers, {"cluster.power_cap=350 W"}, tpot), 1.05 * told(answers, {}, tpot));
}

TEST(Energy, IsThatOfStepsOfWaitingAndOfHosts) {
  const auto energy = [](const std::vector<std::string>& overrides, double EnergyFigures::*member) {
    return told(answers, overrides, [&](const Report& report) { return (*report.energy).*member; });
  };
  const double duration = told(answers, {}, [](const Report& report) { return report.duration_s; });
  const double busy =
      told(answers, {}, [](const Report& report) { return report.gpu_busy * report.duration_s; });
  EXPECT_NEAR(energy({}, &EnergyFigures::steps_j), 700 * busy, 1);
  EXPECT_NEAR(energy({}, &EnergyFigures::idle_j), 0.19 * 700 * (duration - busy), 1);
  EXPECT_NEAR(energy({"cluster.idle_power=60 W"}, &EnergyFigures::idle_j), 60 * (duration - busy),
              1);
  EXPECT_EQ(energy({}, &EnergyFigures::host_j), 0);
  EXPECT_NEAR(energy({"cluster.host_power=500 W"}, &EnergyFigures::host_j), 500 * duration, 1);
  const double all = energy({}, &EnergyFigures::steps_j) + energy({}, &EnergyFigures::idle_j);
  EXPECT_NEAR(energy({}, &EnergyFigures::per_request_j), all / 5, 1);
  EXPECT_NEAR(energy({"run.warmup=10 s"}, &EnergyFigures::per_request_j), all / 5, 1)
      << "the energy is that of the whole run";
  EXPECT_NEAR(told(answers, {}, [](const Report& r) { return *r.energy_j_per_token; }), all / 1000,
              0.1);
}

}  // namespace
}  // namespace foretoken

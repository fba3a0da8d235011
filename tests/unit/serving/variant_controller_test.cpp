// llm-d's Workload Variant Autoscaler on a fleet of two variants, two replicas each: caches of
// 1,600 tokens, of which 1,280 count. It decides every ten steps; replicas are scraped and
// autoscalers look every step.

#include "sim/serving/variant_controller.hpp"

#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken {
namespace {

class VariantControllerTest : public FleetTest {
 protected:
  /// The first replica is up, or as many as `up`.
  void scale(double first_cost, double second_cost, int first_min = 0, std::size_t up = 1) {
    build(4, {.startup = Seconds(steps(3)), .is_scaled = true}, {}, "least_outstanding");
    for (std::size_t i = up; i < 4; ++i) fleet->stop(i);
    settings.policy = ScalingPolicyKind::wva;
    settings.max = 2;
    settings.interval = Seconds(steps(1));
    settings.window_up = settings.window_down = {};
    settings.up = settings.down = {};
    settings.wva.optimization_interval = Seconds(steps(10));
    settings.wva.scrape_interval = Seconds(steps(scrape_steps));
    settings.wva.metrics_window = Seconds(steps(5) * scrape_steps);
    settings.min = first_min;
    first = std::make_unique<Autoscaler>(settings, 1, *platform, *fleet, FleetPart{0, 2});
    settings.min = 0;
    second = std::make_unique<Autoscaler>(settings, 1, *platform, *fleet, FleetPart{2, 2});
    const auto member = [this](const char* name, double cost, int min, Autoscaler& scaler) {
      return VariantController::Member{{name, cost, min, 2, name, 2000, 256}, &scaler, 16};
    };
    controller = std::make_unique<VariantController>(
        settings.wva, *platform, *fleet,
        std::vector{member("first", first_cost, first_min, *first),
                    member("second", second_cost, 0, *second)});
    controller->arm();
    first->arm();
    second->arm();
  }
  [[nodiscard]] std::vector<ReplicaState> states() const {
    std::vector<ReplicaState> all;
    for (std::size_t i = 0; i < fleet->size(); ++i) all.push_back(fleet->state(i));
    return all;
  }

  AutoscalerSettings settings;
  double scrape_steps = 1;
  std::unique_ptr<Autoscaler> first, second;
  std::unique_ptr<VariantController> controller;
  static constexpr auto serving = ReplicaState::serving;
  static constexpr auto starting = ReplicaState::starting;
  static constexpr auto stopped = ReplicaState::stopped;
};

// Two of 640 tokens and up to 60 more: at least 1,296 / 0.85 = 1,525, of 1,280.
TEST_F(VariantControllerTest, TheCheaperVariantGrows) {
  for (int i = 0; i < 2; ++i) add(0, 640, 60);
  scale(2.0, 1.0);
  at(9.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, stopped, stopped})); });
  at(11.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, starting, stopped})); });
  at(19.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, serving, stopped})); });
  run();
}

// A token of the second costs 4 / 2,000 until it has run, of the first 2 / 1,280.
TEST_F(VariantControllerTest, TheOneWhoseTokensAreCheaperGrows) {
  for (int i = 0; i < 2; ++i) add(0, 640, 60);
  scale(2.0, 4.0);
  at(11.5, [&] { EXPECT_EQ(states(), (std::vector{serving, starting, stopped, stopped})); });
  run();
}

// When the load has gone the dearer first one leaves, and the cheap one stays.
TEST_F(VariantControllerTest, TheDearerVariantLeaves) {
  for (int i = 0; i < 2; ++i) add(0, 640, 30);
  add(0, 50, 90);
  scale(2.0, 1.0);
  at(19.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, serving, stopped})); });
  // It still has its last request.
  at(60.5, [&] {
    EXPECT_EQ(states(), (std::vector{ReplicaState::draining, stopped, serving, stopped}));
  });
  run();
}

// Nobody completed a request for 20 steps: all sleep. The next request wakes a replica of each.
TEST_F(VariantControllerTest, AnIdleModelSleepsAndWakes) {
  add(0, 50, 3);
  add(80, 50, 3);
  settings.wva.retention = Seconds(steps(20));
  scale(1.0, 2.0);
  at(29.5, [&] { EXPECT_EQ(states()[0], serving); });
  at(31.5, [&] { EXPECT_EQ(states(), std::vector(4, stopped)); });
  at(79.5, [&] { EXPECT_EQ(states(), std::vector(4, stopped)); });
  at(81.5, [&] { EXPECT_EQ(states(), (std::vector{starting, stopped, starting, stopped})); });
  run();
  EXPECT_EQ(record(1).status, RequestStatus::completed);
}

// Nothing is known before the first scrape, at 15: nothing is decided at 10, but at 20.
TEST_F(VariantControllerTest, DecidesNothingWithoutMetrics) {
  add(0, 50, 80);
  scrape_steps = 15;
  scale(1.0, 2.0, 1, 2);
  at(19.5, [&] { EXPECT_EQ(states(), (std::vector{serving, serving, stopped, stopped})); });
  at(21.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, stopped, stopped})); });
  run();
}

TEST_F(VariantControllerTest, NeverBelowItsLeast) {
  add(0, 50, 80);
  scale(2.0, 1.0, 1);
  at(50.5, [&] { EXPECT_EQ(states()[0], serving); });
  run();
}

}  // namespace
}  // namespace foretoken

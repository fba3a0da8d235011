// A closed loop: `users` people send a request at time 0; each sends the next one `think_time`
// after the answer to the last. Load follows the server's speed and never piles up, which is how
// most published serving benchmarks ("concurrency 64") drive a server.
#include <deque>

#include "workloads/requests/arrival_process.hpp"

namespace foretoken {
namespace {

struct ClosedLoopConfig {
  int users = 1;
  Seconds think_time;
};

class ClosedLoopTimes final : public ArrivalTimes {
 public:
  explicit ClosedLoopTimes(const ClosedLoopConfig& config)
      : think_time_(config.think_time), ready_(static_cast<std::size_t>(config.users)) {}

  std::optional<Arrival> next() override {
    if (ready_.empty()) return std::nullopt;
    const Seconds time = ready_.front();
    ready_.pop_front();
    return Arrival{time, std::nullopt};
  }

  // Everybody thinks equally long, so the queue stays in order of time.
  void on_finished(Seconds now) override {
    FORETOKEN_CHECK(now >= finished_, "a request finished at {} s after one at {} s", now.value(),
                    finished_.value());
    finished_ = now;
    ready_.push_back(now + think_time_);
  }

 private:
  Seconds think_time_;
  std::deque<Seconds> ready_;  // when each user who is not waiting sends
  Seconds finished_;           // the latest end so far
};

class ClosedLoop final : public ArrivalProcess {
 public:
  explicit ClosedLoop(const ClosedLoopConfig& config) : config_(config) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream) const override {
    return std::make_unique<ClosedLoopTimes>(config_);
  }
  void describe(Value& table) const override {
    table.set("users", config_.users);
    table.set("think_time", exact_text(config_.think_time));
  }
  bool waits_for_answers() const override { return true; }

 private:
  ClosedLoopConfig config_;
};

ClosedLoopConfig from_table(TableReader& table) {
  // More users than this would exhaust memory before the first answer.
  constexpr int users_max = 10'000'000;
  ClosedLoopConfig config;
  table.require("users", config.users);
  table.expect("users", config.users >= 1 && config.users <= users_max,
               "must be from 1 to 10000000");
  table.read("think_time", config.think_time);
  expect_time(table, "think_time", config.think_time, true);
  return config;
}

}  // namespace

ArrivalVariant closed_loop_arrivals() {
  return {{"users", "think_time"}, [](TableReader& table, const ArrivalInputs&) {
            return std::make_unique<ClosedLoop>(from_table(table));
          }};
}

}  // namespace foretoken

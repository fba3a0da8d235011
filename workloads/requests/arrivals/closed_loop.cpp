// A closed loop: `users` people send a request at time 0, or within `ramp_up`; each sends the next
// one `think_time` after the answer to the last. Load follows the server's speed and never piles
// up, which is how most published serving benchmarks ("concurrency 64") drive a server. With
// think_time drawn from a distribution, users who were served together do not come back together:
// clients take their time over an answer, and where nothing tells equal requests apart, these few
// milliseconds decide whether prompts meet in a step for ever after.
#include <algorithm>
#include <utility>
#include <vector>

#include "workloads/requests/arrival_process.hpp"
#include "workloads/requests/time_distribution.hpp"

namespace foretoken {
namespace {

struct ClosedLoopConfig {
  int users = 1;
  TimeDistribution think_time;
  Seconds ramp_up;
};

const Keys<ClosedLoopConfig>& closed_loop_keys() {
  using S = ClosedLoopConfig;
  // More users than this would exhaust memory before the first answer.
  constexpr int users_max = 10'000'000;
  static const Keys<S> keys = {
      {"users",
       &S::users,
       {.range = between(1, users_max, "must be from 1 to 10000000"),
        .unit = "users",
        .required = true},
       "Clients that each have one request in progress or pause (\"concurrency\" or \"batch "
       "size\" of benchmarks)."},
      {"think_time",
       &S::think_time,
       {},
       "Pause of a user between an answer and the next request. At 0 the server always has as many "
       "requests as there are users."},
      {"ramp_up",
       &S::ramp_up,
       {.range = not_negative(), .quiet = true},
       "Time over which the users send their first requests, one after the other at equal "
       "intervals (GuideLLM's rampup, AIPerf's --concurrency-ramp-duration). At 0 all send at "
       "once, as vLLM's, SGLang's and InferenceMAX's clients do, and prompts queue at the "
       "beginning."},
  };
  return keys;
}

class ClosedLoopTimes final : public ArrivalTimes {
 public:
  ClosedLoopTimes(const ClosedLoopConfig& config, RandomStream random)
      : think_time_(config.think_time), random_(random) {
    for (int user = 0; user < config.users; ++user)
      send_at(config.ramp_up * (static_cast<double>(user) / config.users));
  }

  std::optional<Arrival> next() override {
    if (ready_.empty()) return std::nullopt;
    std::ranges::pop_heap(ready_, is_later);
    const Seconds time = ready_.back().first;
    ready_.pop_back();
    return Arrival{time, std::nullopt};
  }

  void on_finished(Seconds now) override {
    FORETOKEN_CHECK(now >= finished_, "a request finished at {} s after one at {} s", now.value(),
                    finished_.value());
    finished_ = now;
    on_given_up(now);
  }
  void on_given_up(Seconds now) override { send_at(now + think_time_.sample(random_)); }

 private:
  using Ready = std::pair<Seconds, std::int64_t>;  // when, and the how manieth to be known
  static bool is_later(const Ready& a, const Ready& b) { return b < a; }

  void send_at(Seconds time) {
    ready_.emplace_back(time, known_++);
    std::ranges::push_heap(ready_, is_later);
  }

  TimeDistribution think_time_;
  RandomStream random_;
  std::vector<Ready> ready_;  // when each user who is not waiting sends; the earliest on top
  std::int64_t known_ = 0;
  Seconds finished_;  // the latest end so far
};

class ClosedLoop final : public ArrivalProcess {
 public:
  explicit ClosedLoop(const ClosedLoopConfig& config) : config_(config) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream random) const override {
    return std::make_unique<ClosedLoopTimes>(config_, random);
  }
  void describe(Value& table) const override { closed_loop_keys().write(config_, table); }
  bool waits_for_answers() const override { return true; }
  bool overtakes() const override {
    return !config_.think_time.is_fixed() || config_.ramp_up > Seconds(0.0);
  }

 private:
  ClosedLoopConfig config_;
};

}  // namespace

ArrivalVariant closed_loop_arrivals() {
  return {closed_loop_keys().notes(), [](TableReader& table, const ArrivalInputs&) {
            ClosedLoopConfig config;
            closed_loop_keys().read(table, config);
            return std::make_unique<ClosedLoop>(config);
          }};
}

}  // namespace foretoken

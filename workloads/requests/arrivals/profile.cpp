// A rate that changes from step to step, as monitoring records it: within a step intervals are
// Gamma-distributed as with arrivals = "gamma", and stretched by the rate that holds. It ends with
// its last step.
#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <numeric>

#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

struct ProfileConfig {
  Seconds step;
  std::vector<double> rates;
  double burstiness = 1.0;
};

const Keys<ProfileConfig>& profile_keys() {
  using S = ProfileConfig;
  static const Keys<S> keys = {
      time_key<S>({.name = "step", .fallback = "required", .meaning = "How long each rate holds."},
                  &S::step, false),
      {"rates",
       &S::rates,
       {.range = between(0, 1e9, "must be from 0 to 1e9"),
        .unit = "requests/s",
        .allowed = "0 or more, not all 0",
        .required = true},
       "Mean number of requests that arrive in a second, step by step."},
      {"burstiness",
       &S::burstiness,
       {.range = between(1e-3, 1e6, "must be from 0.001 to 1000000; 1 is Poisson"), .quiet = true},
       "Shape of the intervals, as with arrivals = \"gamma\"."},
  };
  return keys;
}

class ProfileTimes final : public ArrivalTimes {
 public:
  ProfileTimes(const ProfileConfig& config, RandomStream random)
      : config_(config), random_(random), interval_(config.burstiness, 1.0 / config.burstiness) {}

  std::optional<Arrival> next() override {
    // Expected requests until the arrival, spent step by step.
    double left = interval_(random_);
    while (step_ < config_.rates.size()) {
      const double rest = (1.0 - within_) * in_step();
      if (left <= rest && rest > 0) {
        within_ += left / in_step();
        return Arrival{config_.step * (static_cast<double>(step_) + within_), std::nullopt};
      }
      left -= rest;
      ++step_;
      within_ = 0.0;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] double in_step() const { return config_.rates[step_] * config_.step.value(); }

  const ProfileConfig config_;
  RandomStream random_;
  boost::random::gamma_distribution<double> interval_;
  std::size_t step_ = 0;
  double within_ = 0.0;  // the part of the step that is over
};

class Profile final : public ArrivalProcess {
 public:
  explicit Profile(ProfileConfig config) : config_(std::move(config)) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream random) const override {
    return std::make_unique<ProfileTimes>(config_, random);
  }
  void describe(Value& table) const override { profile_keys().write(config_, table); }
  [[nodiscard]] bool is_finite() const override { return true; }

 private:
  ProfileConfig config_;
};

}  // namespace

ArrivalVariant profile_arrivals() {
  return {profile_keys().notes(), [](TableReader& table, const ArrivalInputs&) {
            ProfileConfig config;
            profile_keys().read(table, config);
            table.expect("rates",
                         std::ranges::any_of(config.rates, [](double rate) { return rate > 0; }),
                         "must not all be 0");
            return std::make_unique<Profile>(std::move(config));
          }};
}

}  // namespace foretoken

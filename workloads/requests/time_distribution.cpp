#include "workloads/requests/time_distribution.hpp"

#include <array>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "sim/base/nearest_name.hpp"
#include "workloads/requests/arrival_process.hpp"

namespace foretoken {
namespace {

constexpr std::string_view time_example =
    "write a time, for example \"30 s\", or { distribution = \"exponential\", mean = \"30 s\" }";

Seconds require_time(TableReader& table, std::string_view key) {
  Seconds time;
  table.require(key, time);
  expect_time(table, key, time, true);
  return time;
}

std::optional<TimeDistribution> read_named(TableReader& table) {
  static const std::vector<std::string_view> known = {"fixed", "uniform", "exponential",
                                                      "lognormal"};
  std::string name;
  if (!table.require("distribution", name)) return std::nullopt;
  if (name == "fixed") return TimeDistribution::fixed(require_time(table, "value"));
  if (name == "uniform") {
    const Seconds min = require_time(table, "min");
    const Seconds max = require_time(table, "max");
    table.expect("max", min <= max, "is below min; swap them");
    return TimeDistribution::uniform(min, max);
  }
  if (name == "exponential") return TimeDistribution::exponential(require_time(table, "mean"));
  if (name == "lognormal") {
    const Seconds median = require_time(table, "median");
    double sigma = 0.0;
    table.require("sigma", sigma);
    table.expect("sigma", sigma >= 0.0 && sigma <= 10.0, "must be from 0 (always equal) to 10",
                 Mistake::slip);
    return TimeDistribution::lognormal(median, sigma);
  }
  table.fail("distribution", unknown_name_message("distribution", name, known), Mistake::slip);
  return std::nullopt;
}

}  // namespace

Seconds TimeDistribution::sample(RandomStream& random) const {
  switch (kind_) {
    case Kind::fixed:
      return Seconds(first_);
    case Kind::uniform:
      return Seconds(first_ + (second_ - first_) * foretoken::uniform(random));
    case Kind::exponential:
      return Seconds(first_ * boost::random::exponential_distribution<double>(1.0)(random));
    case Kind::lognormal:
      return Seconds(first_ *
                     std::exp(second_ * boost::random::normal_distribution<double>()(random)));
  }
  FORETOKEN_CHECK(false, "a distribution of no kind");
}

Value TimeDistribution::resolved() const {
  const auto time = [](double seconds) { return exact_text(Seconds(seconds)); };
  switch (kind_) {
    case Kind::fixed:
      return time(first_);
    case Kind::uniform:
      return ValueObject{
          {"distribution", "uniform"}, {"min", time(first_)}, {"max", time(second_)}};
    case Kind::exponential:
      return ValueObject{{"distribution", "exponential"}, {"mean", time(first_)}};
    case Kind::lognormal:
      return ValueObject{
          {"distribution", "lognormal"}, {"median", time(first_)}, {"sigma", second_}};
  }
  FORETOKEN_CHECK(false, "a distribution of no kind");
}

std::optional<TimeDistribution> read_time_distribution(TableReader& table, std::string_view key) {
  const Value* value = table.find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) {
    TableReader options(*value, table.diagnostics(), table.full_name(key));
    auto times = read_named(options);
    if (times) options.finish();
    return times;
  }
  if (!value->is_string()) {
    table.fail(key, fmt::format("is {}; {}", type_name(*value), time_example));
    return std::nullopt;
  }
  Seconds time;
  if (!table.read(key, time)) return std::nullopt;
  expect_time(table, key, time, true);
  return TimeDistribution::fixed(time);
}

std::vector<KeyTable> time_distribution_tables() {
  const auto time = [](const char* key, const char* meaning) -> KeyNote {
    return {key,        "time",      std::string(quantity_example<Seconds>()),
            "required", "0 or more", meaning};
  };
  const auto table = [](const char* distribution, const char* about, std::vector<KeyNote> keys) {
    return KeyTable{"workload.TIME", fmt::format("distribution = \"{}\"", distribution), about,
                    std::move(keys)};
  };
  return {table("uniform", "Every time from min to max is equally likely.",
                {time("min", "Shortest time."), time("max", "Longest time.")}),
          table("exponential", "As between unrelated events: often short, rarely long.",
                {time("mean", "Mean of the times.")}),
          table("lognormal", "Around a median with a long tail, like human pauses.",
                {time("median", "Time that half of the draws stay below."),
                 {"sigma", "number", "", "required", "0 to 10",
                  "Standard deviation of the logarithm: 0 is always the median; 1 puts a sixth of "
                  "the draws above 2.7 times it."}})};
}

}  // namespace foretoken

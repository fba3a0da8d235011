#include "workloads/requests/adapters.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

constexpr double count_most = 1e6;

const Keys<AdapterTraffic>& adapter_keys() {
  using S = AdapterTraffic;
  static const Keys<S> keys = {
      {"count",
       &S::count,
       {.range = between(1, count_most), .unit = "adapters", .required = true},
       "Adapters that requests ask for."},
      {"share",
       &S::share,
       {.range = {.low = 0, .high = 1, .has_low = false, .message = "must be above 0, at most 1"}},
       "Share of the requests that ask for one; the others use the base model."},
      {"skew",
       &S::skew,
       {.range = between(0, 10)},
       "How unevenly they are requested: adapter i in proportion to i^-skew (Zipf's law). 0: all "
       "equally."},
  };
  return keys;
}

}  // namespace

AdapterDraws::AdapterDraws(const AdapterTraffic& traffic, const RandomStreams& random)
    : share_(traffic.share), random_(random.stream("adapters")) {
  double sum = 0;
  for (std::int64_t i = 1; i <= traffic.count; ++i)
    up_to_.push_back(sum += std::pow(static_cast<double>(i), -traffic.skew));
  for (double& share : up_to_) share /= sum;
}

std::optional<std::uint32_t> AdapterDraws::next() {
  if (up_to_.empty()) return std::nullopt;
  const double drawn = uniform(random_) / share_;
  if (drawn >= 1) return std::nullopt;
  const auto found = std::ranges::upper_bound(up_to_, drawn);
  const auto number = std::min(found - up_to_.begin(), std::ssize(up_to_) - 1);  // rounding
  return static_cast<std::uint32_t>(number);
}

void give_adapter(std::optional<std::uint32_t> adapter, Request& request) {
  request.adapter = adapter;
  if (!adapter) return;
  // Added, so that hashes that count up still do.
  const std::uint64_t own = Fingerprint().add("adapter").add(std::uint64_t{*adapter}).value();
  request.prefix_hashes.shift(own);
}

KeyNote adapters_note() {
  return {"adapters", "table", "",
          "not set",  "",      "LoRA adapters that requests ask for: [workload.adapters]."};
}

KeyTable adapters_key_table() {
  return {
      "workload.adapters", "",
      "Which LoRA adapters requests ask for. How an engine serves them is set in [engine.lora].",
      adapter_keys().notes()};
}

AdapterTraffic read_adapters(TableReader& workload) {
  AdapterTraffic adapters;
  const Value* given = workload.find_table("adapters");
  if (given == nullptr) return adapters;
  TableReader table(*given, workload.diagnostics(), "workload.adapters");
  adapter_keys().read(table, adapters);
  table.finish();
  return adapters;
}

void describe(const AdapterTraffic& adapters, Value& workload) {
  if (!adapters.empty()) workload.set("adapters", adapter_keys().table(adapters));
}

}  // namespace foretoken

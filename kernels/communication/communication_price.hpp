// Prices the collectives of a run: by the closed form (collective_cost.hpp), or from the database
// of measurements (measured_communication.hpp) with whatever the scenario names for what was not
// measured.
#pragma once

#include "kernels/communication/collective_cost.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

enum class CommSource { model, measured };
template <>
struct EnumNames<CommSource> {
  static constexpr auto names = std::to_array<std::string_view>({"model", "measured"});
};

/// Where the database would have prices for this cluster.
MeasuredPrices measured_prices(const ClusterSpec& cluster, Framework framework,
                               CommFallback fallback);

/// One call over links that nobody else uses. From the database: the framework's all-reduce or
/// NCCL's, inside a CUDA graph where that was measured; origin measured, or transferred from a
/// sibling GPU on links of the same rate. Between nodes the network must have the measured one's
/// rate, and every node as many ranks. Throws PredictionError for what was not measured (most
/// networks, most algorithms by name), unless the fallback prices it.
Prediction price_communication(const Collective& collective, const GroupLinks& links,
                               const CommSettings& settings);

/// A call that takes its price while nobody else uses the links, and longer once somebody does:
/// what the platform simulates.
struct PricedCall {
  CollectiveCall call;
  Origin origin = Origin::analytic;
};
PricedCall priced_call(const Collective& collective, const GroupLinks& links,
                       const CommSettings& settings);

}  // namespace foretoken

// What a scenario's engine does where a key says "auto", by the version of its preset.
#pragma once

#include <string>

#include "kernels/communication/engine_exchange.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Of the preset; "" without one, and where it is of another engine than the one whose kernels run.
std::string version_of(const Scenario& scenario);

/// What an engine's choice depends on.
ExchangeSite exchange_site(const Transformer& model, const ParallelLayout& layout,
                           const GpuSpec& gpu);
/// How its attention ranks exchange tokens with experts, and whose choice that is: of the preset's
/// version where it has a preset, else of the newest that is known.
SettledExchange exchange_of(const Scenario& scenario);

}  // namespace foretoken

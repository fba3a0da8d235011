// What `foretoken step` says: a JSON object, or a table of kernels.
#pragma once

#include <optional>
#include <string>

#include "kernels/communication/engine_exchange.hpp"
#include "sim/base/value.hpp"
#include "sim/prices/step_price.hpp"

namespace foretoken {

/// What the prices are of: `is_cold`: weights and KV cache come from DRAM.
struct StepCircumstances {
  double host_us = 0;
  bool is_cold = true;
  std::optional<SettledExchange> exchange = {};  // of attention ranks' tokens
  std::vector<MediaPatches> media = {};          // that are encoded before the step
  std::optional<Routing> routing = {};           // of tokens to experts
};

/// Times in microseconds; `stages` where there are several.
Value step_value(const StepCost& cost, const StepCircumstances& circumstances);
/// On stdout.
void print_step(const std::string& model, const StepCost& cost, const BatchShape& batch,
                const StepCircumstances& circumstances);

}  // namespace foretoken

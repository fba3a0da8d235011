// What a scenario's steps are priced with, whoever asks: a run, `foretoken step`, a plan's bounds.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/communication/communication_price.hpp"
#include "kernels/predictor.hpp"
#include "sim/scenario/scenario.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// Launches as they are in steps, within physics, times [predictor.stretch]. Throws ConfigError for
/// options that the predictor does not know.
std::unique_ptr<Predictor> step_predictor(const Scenario& scenario,
                                          const Registry<PredictorFactory>& predictors);

/// Links, the all-reduce that the engine runs, and measured prices where the scenario asks for
/// them.
CommSettings communication_of(const Scenario& scenario);

/// The time of a step on each pipeline stage of a scenario without pools, communication included,
/// host time and drafts left out. `scenario` must outlive it.
using StepTimes = std::function<std::vector<Seconds>(const BatchShape& batch)>;
StepTimes step_times(const Scenario& scenario, const Registry<PredictorFactory>& predictors);

}  // namespace foretoken

// The variants that a scenario can name, of every family that a run asks for.
#pragma once

#include <memory>
#include <string>

#include "kernels/predictor.hpp"
#include "sim/serving/router.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

/// Plug-ins add theirs before the run.
struct Catalogs {
  Registry<PredictorFactory> predictors = predictor_catalog();
  Registry<SchedulerFactory> schedulers = scheduler_catalog();
  Registry<RouterFactory> routers = router_catalog();
};

/// The predictor called `name` with default options; an unknown name is a ConfigError at
/// `position`.
std::unique_ptr<Predictor> make_predictor(const Registry<PredictorFactory>& predictors,
                                          const std::string& name, const SourcePosition& position);

}  // namespace foretoken

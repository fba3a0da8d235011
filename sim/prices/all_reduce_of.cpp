#include "sim/prices/all_reduce_of.hpp"

#include "kernels/communication/engine_all_reduce.hpp"
#include "sim/scenario/engine_choices.hpp"

namespace foretoken {

std::string all_reduce_of(const Scenario& scenario) {
  return engine_all_reduce(scenario.deployment.all_reduce,
                           scenario.execution.implementation.framework, version_of(scenario));
}

}  // namespace foretoken

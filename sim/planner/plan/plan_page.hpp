// The pages of a plan and of highest loads: what `plan --report` writes.
#pragma once

#include <string>

#include "sim/planner/plan/max_load.hpp"
#include "sim/planner/plan/plan.hpp"

namespace foretoken {

/// `scenario` is the file's name; `load` loads it as the plan did, for the answer's own scenario.
std::string plan_page(const Plan& plan, const std::string& scenario, const LoadScenario& load,
                      const std::string& version);
std::string max_load_page(const MaxLoad& answer, const std::string& scenario,
                          const LoadScenario& load, const std::string& version);

}  // namespace foretoken

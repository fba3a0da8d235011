// The pages of a plan, of several models' and of highest loads: what `plan --report` writes.
#pragma once

#include <string>

#include "sim/planner/plan/max_load.hpp"
#include "sim/planner/plan/model_plans.hpp"
#include "sim/planner/plan/plan.hpp"
#include "sim/report/page.hpp"

namespace foretoken {

/// What a plan chose from and why, as sections whose names begin with `of`.
void add_plan(ReportPage& page, const Plan& plan, const std::string& of);

/// `scenario` is the file's name; `load` loads it as the plan did, for the answer's own scenario.
std::string plan_page(const Plan& plan, const std::string& scenario, const LoadScenario& load,
                      const std::string& version);
std::string model_plans_page(const ModelPlans& plans, const std::string& scenario,
                             const LoadScenario& load, const std::string& version);
std::string max_load_page(const MaxLoad& answer, const std::string& scenario,
                          const LoadScenario& load, const std::string& version);

}  // namespace foretoken

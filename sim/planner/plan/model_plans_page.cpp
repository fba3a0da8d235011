// The page of a plan for several models: the deployments that hold together, then what each model's
// plan chose from.
#include <fmt/format.h>

#include "sim/base/toml.hpp"
#include "sim/planner/plan/plan_page.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

void add_model_tiles(ReportPage& page, const ModelPlans& plans) {
  std::vector<PageTile> tiles;
  const auto models = counted(static_cast<std::int64_t>(plans.models.size()), "model");
  if (plans.is_found()) {
    tiles.push_back(
        {"Cheapest for " + models, counted(plans.gpus(), "GPU"), "", "", PageTile::Tone::good});
    tiles.push_back({"Cost", fmt::format("${}", grouped(plans.dollars_per_hour(), 2)), "an hour",
                     fmt::format("${} a month", month_text(plans.dollars_per_hour()))});
    for (const ModelPlan& part : plans.models) {
      tiles.push_back({part.model, with_units(part.plan, part.candidate, part.units), "",
                       fmt::format("{} · {} % within the SLO with the others",
                                   counted(part.gpus(), "GPU"), attained(part.attainment))});
    }
  } else {
    tiles.push_back({"Cheapest for " + models, "none", "",
                     plans.problem.empty() ? "stopped before all had an answer" : plans.problem,
                     PageTile::Tone::bad});
  }
  tiles.push_back({"Runs", grouped(static_cast<std::int64_t>(plans.runs)), "", ""});
  page.tiles(tiles);
}

void add_answer(ReportPage& page, const ModelPlans& plans) {
  page.section("The models together",
               "Each is planned under its own requests, then all run together.");
  std::vector<std::string> models, choices;
  std::vector<double> shares, units, gpus, dollars, attainments;
  for (const ModelPlan& part : plans.models) {
    models.push_back(part.model);
    choices.push_back(choice_of(part.plan, part.candidate));
    shares.push_back(100 * part.share);
    units.push_back(part.units);
    gpus.push_back(part.gpus());
    dollars.push_back(part.dollars_per_hour());
    attainments.push_back(100 * part.attainment);
  }
  page.table("model", {PageColumn::of_texts("model", std::move(models)),
                       PageColumn::of_numbers("cost", "$/h", 2, std::move(dollars)),
                       PageColumn::of_texts("choice", std::move(choices)),
                       PageColumn::of_numbers("replicas", "", 0, std::move(units)),
                       PageColumn::of_numbers("GPUs", "", 0, std::move(gpus)),
                       PageColumn::of_numbers("of the requests", "%", 1, std::move(shares)),
                       PageColumn::of_numbers("within SLO", "%", 1, std::move(attainments))});
}

}  // namespace

std::string model_plans_page(const ModelPlans& plans, const std::string& scenario,
                             const LoadScenario& load, const std::string& version) {
  ReportPage page("Plan of " + scenario, "plan", version);
  add_model_tiles(page, plans);
  if (plans.is_found()) add_answer(page, plans);
  std::size_t choices = 0;
  for (const ModelPlan& part : plans.models) {
    add_plan(page, part.plan, part.model + " alone: ");
    choices = std::max(choices, part.plan.space.candidates.size());
  }
  page.section("Scenario", "The cheapest deployment of all models; every default filled in.");
  if (plans.is_found()) {
    page.text("Command",
              command_lines(command_words(plans.overrides, plans.run, scenario), 100, 0));
    page.text("scenario.toml", to_toml(resolved_scenario(load(plans.run))));
  }
  page.text("Terminal output",
            model_plans_table(plans, scenario, {.width = 120, .rows_max = choices}));
  return page.html();
}

}  // namespace foretoken

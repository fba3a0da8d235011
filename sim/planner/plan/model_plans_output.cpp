// The plan of several models for the terminal, as CSV and as JSON.
#include <fmt/format.h>

#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/model_plans.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/result_table.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

/// "TP 4, 2 replicas".
std::string deployed(const ModelPlan& part) {
  return with_units(part.plan, part.candidate, part.units);
}

std::string answer_text(const ModelPlans& plans, const std::string& scenario, const Ink& ink,
                        int width) {
  if (!plans.is_found()) {
    return wrapped(fmt::format("{} {}", ink.bad("✗"),
                               plans.problem.empty() ? "stopped before all models had an answer"
                                                     : plans.problem),
                   width, 2, 4);
  }
  std::string text =
      wrapped(fmt::format("{} cheapest for {}: {} · {}", ink.good("★"),
                          counted(static_cast<std::int64_t>(plans.models.size()), "model"),
                          counted(plans.gpus(), "GPU"), dollars_text(plans.dollars_per_hour())),
              width, 2, 4);
  for (const ModelPlan& part : plans.models) {
    text +=
        wrapped(fmt::format("{}: {} · {} · {} · with the others {} % of its requests meet the SLO",
                            part.model, deployed(part), counted(part.gpus(), "GPU"),
                            dollars_text(part.dollars_per_hour()), attained(part.attainment)),
                width, 4, 6);
  }
  return text +
         ink.quiet(command_lines(command_words(plans.overrides, plans.run, scenario), width, 4));
}

ResultTable model_columns(const ModelPlans& plans) {
  using enum ResultKind;
  using Part = const ModelPlan&;
  ResultTable table;
  const auto add = [&](ResultColumn column, const auto& content_of) {
    table.add(std::move(column), plans.models, [&](Part part) {
      return plans.is_found() ? ResultCell::of(std::invoke(content_of, part)) : ResultCell();
    });
  };
  table.add({"model"}, plans.models, &ModelPlan::model);
  table.add({"share", "", "", "", number}, plans.models, &ModelPlan::share);
  add({"choice"}, [](Part part) { return choice_of(part.plan, part.candidate); });
  add({"units", "", "", "", count}, &ModelPlan::units);
  add({"gpus", "", "", "", count}, &ModelPlan::gpus);
  add({"dollars_per_hour", "", "", "", number}, &ModelPlan::dollars_per_hour);
  add({"attainment", "", "", "", number}, &ModelPlan::attainment);
  return table;
}

}  // namespace

std::string model_plans_table(const ModelPlans& plans, const std::string& scenario,
                              const PlanTableLayout& layout) {
  const Ink ink(layout.colour);
  std::string text = answer_text(plans, scenario, ink, layout.width);
  for (const ModelPlan& part : plans.models) {
    text += fmt::format("\n  {}\n", ink.strong(fmt::format("{} alone, {} of the requests",
                                                           part.model, percent(part.share))));
    text += plan_table(part.plan, scenario, layout);
  }
  return text;
}

std::string model_plans_csv(const ModelPlans& plans) { return model_columns(plans).csv(); }

Value model_plans_value(const ModelPlans& plans) {
  ValueArray models = model_columns(plans).json();
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelPlan& part = plans.models[i];
    if (plans.is_found()) models[i].set("candidate", static_cast<std::int64_t>(part.candidate));
    models[i].set("plan", plan_value(part.plan));
  }
  Value value;
  value.set("complete", plans.is_complete);
  if (!plans.problem.empty()) value.set("problem", plans.problem);
  if (plans.is_found()) {
    value.set("gpus", plans.gpus());
    value.set("dollars_per_hour", rounded(plans.dollars_per_hour()));
    ValueArray keys;
    for (const std::string& key : texts_of(plans.run)) keys.emplace_back(key);
    value.set("set", std::move(keys));
  }
  value.set("runs", static_cast<std::int64_t>(plans.runs));
  value.set("models", std::move(models));
  return value;
}

}  // namespace foretoken

#include "sim/library/foretoken.hpp"

#include <utility>

#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/planner/choice_complaints.hpp"
#include "sim/planner/compare/compare.hpp"
#include "sim/platform/flow_network.hpp"
#include "sim/processes/forking_runner.hpp"

namespace foretoken {
namespace {

Scenario scenario_of(const Question& question, const Changes& changes) {
  Value root = question.scenario;
  apply_changes(root, parse_changes(question.overrides));
  apply_changes(root, changes);
  return read_scenario(root, {question.folder});
}

}  // namespace

Question load_question(const std::filesystem::path& file,
                       const std::vector<std::string>& overrides) {
  return {load_toml(file, FileKind::scenario), overrides,
          file.has_parent_path() ? file.parent_path() : "."};
}

Report run_row(const Question& question, const RunRequest& request, const Catalogs& catalogs) {
  RunOptions options;
  options.misses_max = request.misses_max;
  Scenario scenario = scenario_of(question, request.changes);
  if (scenario.run.intervals == IntervalSource::automatic)
    scenario.run.intervals = IntervalSource::estimate;  // a study would take three times as long
  Report report = run_with_intervals(scenario, catalogs, options);
  report.timeline.clear();
  return report;
}

std::function<Report(const RunRequest&)> row_runner(Question question, Catalogs catalogs) {
  FlowNetwork::load();
  return [question = std::move(question), catalogs = std::move(catalogs)](
             const RunRequest& request) { return run_row(question, request, catalogs); };
}

template <class Archive>
void members(Archive& a, Answer& answer) {
  a("report", answer.report);
  a("requests_csv", answer.requests_csv);
}

Answer simulate(const Question& question, const Catalogs& catalogs) {
  (void)scenario_of(question, {});  // its mistakes are told here, with their places
  ForkedJobs<Answer> jobs(1);
  jobs.start(0, [&]() -> Answer {
    const Report report = run_with_intervals(scenario_of(question, {}), catalogs);
    return {report_value(report), requests_csv(report)};
  });
  auto finished = jobs.wait();
  if (!finished) throw Interrupted();
  Outcome<Answer>& outcome = finished->outcome;
  if (outcome.status == RunStatus::infeasible) throw ConfigError({}, outcome.message);
  if (outcome.status == RunStatus::failed) throw RunError(outcome.message);
  return std::move(outcome.report);
}

std::vector<Value> predict(const std::vector<Value>& kernels, const PricingChoice& choice,
                           const Catalogs& catalogs) {
  const KernelPricer pricer(choice, catalogs.predictors);
  std::vector<Value> answers;
  answers.reserve(kernels.size());
  for (const Value& kernel : kernels) answers.push_back(pricer.answer(kernel));
  return answers;
}

Value compare(const Question& question, const std::vector<LayoutChoice>& choices, std::size_t slots,
              const Catalogs& catalogs) {
  check_choices(choices, [&](const RunRequest& request) {
    check_scenario(scenario_of(question, request.changes), catalogs);
  });
  ForkingRunner runner(slots, row_runner(question, catalogs));
  RunStore in_memory(":memory:", "");
  const RunOwner alone = {"", "", 60, [] { return 0.0; }, [](const std::string&) { return false; }};
  const Comparison comparison = compare_layouts(choices, runner, in_memory, alone, {});
  if (!comparison.is_complete) throw Interrupted();
  return comparison_value(comparison);
}

}  // namespace foretoken

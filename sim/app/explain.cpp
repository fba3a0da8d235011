// foretoken explain: why is a request, or a percentile of all, as slow as it is, and which one
// change would help most? One run finds the request, runs with one thing relaxed each say what
// would help (all in child processes), and a last one here looks at the request.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/app/named_files.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/planner/relaxations.hpp"
#include "sim/processes/forking_runner.hpp"
#include "sim/report/page.hpp"
#include "sim/report/command_text.hpp"
#include "sim/run/latency_collector.hpp"
#include "sim/run/run.hpp"

namespace foretoken {
namespace {

struct ExplainOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string percentile = "ttft:99";
  std::optional<std::uint32_t> request;
  std::string metric = "e2e";
  std::string report_path;
  std::size_t jobs = 0;
  bool split_only = false;
  bool json = false;
};

LatencyQuestion question_of(const ExplainOptions& options, const Scenario& scenario) {
  LatencyQuestion question;
  if (options.request) {
    question.metric = parse_latency_metric(options.metric, "--metric");
    question.request = options.request;
  } else {
    question = parse_latency_question(options.percentile);
  }
  question.warmup_s = scenario.run.warmup.value();
  return question;
}

/// A run in a child: the answer, and what relaxations need to know. A mistake in the question is
/// the user's, and only shows once the run is known.
Value probe(const ExplainOptions& options, const LatencyQuestion& question,
            const RunRequest& request) {
  const Report report =
      run_scenario(load_scenario(options.scenario, with(options.overrides, request)), Catalogs());
  Value found;
  try {
    const LatencyAnswer answered = answer(report, question);
    const auto row = std::ranges::find(report.rows, answered.id, &RequestRow::id);
    found.set("value_ms", answered.value_ms);
    found.set("id", std::int64_t{answered.id});
    found.set("arrival_s", row->arrival_s);
  } catch (const ConfigError& mistake) {
    if (!request.overrides.empty()) throw;
    const Diagnostic& said = mistake.diagnostics().front();
    found.set("option", said.position.file);
    found.set("mistake", said.message);
    return found;
  }
  ValueArray blocks;
  for (const Report::Pool& pool : report.pools) blocks.emplace_back(pool.kv_blocks);
  if (blocks.empty()) blocks.emplace_back(report.kv.blocks);
  found.set("kv_blocks", std::move(blocks));
  return found;
}

template <class T>
T member(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  const T* data = found == nullptr ? nullptr : std::get_if<T>(&found->data);
  FORETOKEN_CHECK(data != nullptr, "a run told no {}", key);
  return *data;
}

struct FirstRun {
  LatencyAnswer answer;
  Seconds arrival;
  std::vector<std::int64_t> kv_blocks;
};

/// nullopt: the user asked to stop.
std::optional<FirstRun> run_first(ScenarioRunner& runner) {
  runner.start(0, {});
  const std::optional<ScenarioRunner::Finished> finished = runner.wait();
  if (!finished) return std::nullopt;
  const RunOutcome& outcome = finished->outcome;
  if (outcome.status != RunStatus::ran) throw std::runtime_error(outcome.message);
  const Value& told = outcome.report;
  if (told.find("mistake") != nullptr) {
    throw ConfigError({member<std::string>(told, "option")}, member<std::string>(told, "mistake"));
  }
  FirstRun first;
  first.answer = {member<double>(told, "value_ms"),
                  static_cast<std::uint32_t>(member<std::int64_t>(told, "id"))};
  first.arrival = Seconds(member<double>(told, "arrival_s"));
  for (const Value& blocks : member<ValueArray>(told, "kv_blocks")) {
    first.kv_blocks.push_back(std::get<std::int64_t>(blocks.data));
  }
  return first;
}

/// The run again, in this process, with an eye on that request; with [run] intervals = "simulate"
/// those at the edges of prices too.
void look_at(const Scenario& scenario, const FirstRun& first, LatencyExplanation& explanation) {
  LatencyCollector collector(scenario,
                             LatencyCollector::Watched{RequestId{first.answer.id}, first.arrival});
  RunOptions run_options;
  run_options.observer = &collector;
  const Report report = run_with_intervals(scenario, Catalogs(), run_options);
  explanation.title = report.title;
  explanation.interval = answer_interval(report, explanation.question);
  explanation.request = *std::ranges::find(report.rows, first.answer.id, &RequestRow::id);
  const auto split = collector.splits().find(first.answer.id);
  FORETOKEN_CHECK(split != collector.splits().end(), "request {} was not seen", first.answer.id);
  explanation.split = split->second;
}

/// The command that was given, without what concerns its output.
std::vector<std::string> command_of(const ExplainOptions& options) {
  std::vector<std::string> words = {"foretoken explain " + shell_word(options.scenario)};
  if (options.request) {
    words.push_back(fmt::format("--request {} --metric {}", *options.request, options.metric));
  } else {
    words.push_back("--percentile " + shell_word(options.percentile));
  }
  for (const std::string& set : set_words(options.overrides)) words.push_back(set);
  return words;
}

int explain(const ExplainOptions& options) {
  const Scenario scenario = load_scenario(options.scenario, options.overrides);
  Outputs outputs(inputs_of(options.scenario, options.overrides));
  if (!options.report_path.empty()) {
    check_page_charts();
    outputs.expect(options.report_path);
  }
  check_scenario(scenario, Catalogs());
  LatencyExplanation explanation;
  explanation.command = command_of(options);
  explanation.question = question_of(options, scenario);
  std::optional<FirstRun> first;
  {
    ForkingRunner runner(options.jobs, [&](const RunRequest& request) {
      return probe(options, explanation.question, request);
    });
    first = run_first(runner);
    if (!first) return status_interrupted;
    explanation.value_ms = first->answer.value_ms;
    if (!options.split_only) {
      explanation.relaxed = relaxations(scenario, first->kv_blocks);
      if (!run_relaxed(explanation.relaxed, runner)) return status_interrupted;
      rank_by_gain(explanation);
    }
  }
  look_at(scenario, *first, explanation);
  if (!options.report_path.empty()) {
    outputs.write(options.report_path,
                  explanation_page(explanation, to_toml(resolved_scenario(scenario)), version()));
  }
  outputs.publish();
  if (options.json) {
    show_data(to_json(explanation_value(explanation)) + "\n");
  } else {
    show("{}", explanation_text(explanation, shows_colour(stdout), terminal_width(stdout)));
  }
  return 0;
}

}  // namespace

void add_explain(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = program.add_subcommand(
      "explain", "Why is a request slow, and which one change would help most?");
  command->add_option("scenario", options->scenario, "Scenario file (TOML)")->required();
  CLI::Option* request = command->add_option("--request", options->request,
                                             "This request, by its number in requests.csv");
  command
      ->add_option("--percentile", options->percentile,
                   "The request at a percentile of ttft, tpot or e2e, as tpot:99.9")
      ->capture_default_str()
      ->excludes(request);
  command->add_option("--metric", options->metric, "With --request: its ttft, tpot or e2e")
      ->capture_default_str()
      ->needs(request);
  add_set_option(*command, options->overrides);
  command->add_flag("--split-only", options->split_only,
                    "Say where the time went, without runs of what would help");
  command->add_option("--report", options->report_path,
                      "Write bars and tables of the same here, as one HTML file");
  command->add_option("--jobs", options->jobs, "Runs at once (default: one a processor)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "Print the same as one JSON object");
  command->footer(
      examples("  foretoken explain examples/quickstart.toml\n"
               "  foretoken explain examples/swap.toml --percentile tpot:99\n"
               "  foretoken explain examples/quickstart.toml --request 7 --metric ttft "
               "--split-only\n"
               "  foretoken explain examples/quickstart.toml --set \"workload.rate=8 /s\" --json"));
  command->callback([options, &chosen] { chosen = [options] { return explain(*options); }; });
}

}  // namespace foretoken

// foretoken explain: why is a request, or a percentile of all, as slow as it is, and which one
// change would help most? One run finds the request, runs with one thing relaxed each say what
// would help (all in child processes), and a last one here looks at the request.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "sim/app/named_files.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/planner/job_pool.hpp"
#include "sim/planner/relaxations.hpp"
#include "sim/processes/forked_jobs.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/page.hpp"
#include "sim/run/latency_collector.hpp"
#include "sim/run/run.hpp"
#include "sim/run/speculation_payoff.hpp"
#include "sim/terminal/terminal.hpp"

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

/// What a run in a child tells: the answer, and what relaxations need to know. A mistake in the
/// question is the user's, and only shows once the run is known.
struct Probed {
  double value_ms = 0;
  std::int64_t id = 0;  // of the request
  double arrival_s = 0;
  std::vector<std::int64_t> kv_blocks;
  std::string option, mistake;
};

}  // namespace

template <class Archive>
void members(Archive& a, Probed& probed) {
  a("value_ms", probed.value_ms);
  a("id", probed.id);
  a("arrival_s", probed.arrival_s);
  a("kv_blocks", probed.kv_blocks);
  a("option", probed.option);
  a("mistake", probed.mistake);
}

namespace {

Probed probe(const ExplainOptions& options, const LatencyQuestion& question,
             const Changes& changes) {
  const Report report =
      run_scenario(load_scenario(options.scenario, with(options.overrides, changes)), Catalogs());
  Probed found;
  try {
    const LatencyAnswer answered = answer(report, question);
    const auto row = std::ranges::find(report.rows, answered.id, &RequestRow::id);
    found.value_ms = answered.value_ms;
    found.id = answered.id;
    found.arrival_s = row->arrival_s;
  } catch (const ConfigError& mistake) {
    if (!changes.empty()) throw;
    const Diagnostic& said = mistake.diagnostics().front();
    found.option = said.position.file;
    found.mistake = said.message;
    return found;
  }
  for (const Report::Pool& pool : report.pools) found.kv_blocks.push_back(pool.kv_blocks);
  if (found.kv_blocks.empty()) found.kv_blocks.push_back(report.kv.blocks);
  return found;
}

using Probes = ForkedJobs<Probed>;

/// nullopt: the user asked to stop.
std::optional<Probed> run_first(Probes& probes, const std::function<Probed()>& job) {
  Probed first;
  const bool ran = run_all(
      probes, 1, [&](std::size_t) { return job; },
      [&](Finished<Probed> finished) {
        const Outcome<Probed>& outcome = finished.outcome;
        if (outcome.status != RunStatus::ran) throw std::runtime_error(outcome.message);
        first = outcome.report;
      });
  if (!ran) return std::nullopt;
  if (!first.mistake.empty()) throw ConfigError({first.option}, first.mistake);
  return first;
}

/// Tokens that a sequence has read half way through its answer, on average.
std::int64_t mean_context(const Report& report) {
  double sum = 0, count = 0;
  for (const RequestRow& row : report.rows) {
    if (row.status != "completed") continue;
    sum += static_cast<double>(row.prompt_tokens) + static_cast<double>(row.output_tokens) / 2;
    ++count;
  }
  return std::max<std::int64_t>(std::llround(sum / std::max(count, 1.0)), 1);
}

/// The run again, in this process, with an eye on that request; with [run] intervals = "simulate"
/// those at the edges of prices too.
void look_at(const Scenario& scenario, const Probed& first, LatencyExplanation& explanation) {
  const auto id = static_cast<std::uint32_t>(first.id);
  LatencyCollector collector(scenario,
                             LatencyCollector::Watched{RequestId{id}, Seconds(first.arrival_s)});
  RunOptions run_options;
  run_options.observer = &collector;
  const Report report = run_with_intervals(scenario, Catalogs(), run_options);
  explanation.title = report.title;
  if (report.network) explanation.contention_by = report.network->contention_by;
  explanation.interval = answer_interval(report, explanation.question);
  explanation.request = *std::ranges::find(report.rows, id, &RequestRow::id);
  const auto split = collector.splits().find(id);
  FORETOKEN_CHECK(split != collector.splits().end(), "request {} was not seen", id);
  explanation.split = split->second;
  if (scenario.engine.speculative && scenario.pools.empty()) {
    explanation.drafts = speculation_payoff(scenario, Catalogs().predictors, mean_context(report));
  }
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
  const Scenario scenario = load_scenario(options.scenario, parse_changes(options.overrides));
  Outputs outputs(inputs_of(options.scenario, options.overrides));
  if (!options.report_path.empty()) {
    check_page_charts();
    outputs.expect(options.report_path);
  }
  check_scenario(scenario, Catalogs());
  LatencyExplanation explanation;
  explanation.command = command_of(options);
  explanation.question = question_of(options, scenario);
  std::optional<Probed> first;
  {
    Probes probes(options.jobs);
    const auto job = [&](const Changes& changes) -> std::function<Probed()> {
      return [&options, &explanation, changes] {
        return probe(options, explanation.question, changes);
      };
    };
    first = run_first(probes, job({}));
    if (!first) throw Interrupted();
    explanation.value_ms = first->value_ms;
    if (!options.split_only) {
      std::vector<RelaxedRun>& runs = explanation.relaxed = relaxations(scenario, first->kv_blocks);
      const bool ran = run_all(
          probes, runs.size(), [&](std::size_t i) { return job(runs[i].changes); },
          [&](const Finished<Probed>& finished) {
            RelaxedRun& run = runs[finished.ticket];
            run.message = finished.outcome.message;
            if (finished.outcome.status == RunStatus::ran)
              run.value_ms = finished.outcome.report.value_ms;
          });
      if (!ran) throw Interrupted();
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
      "explain", "Explain why a request is slow, and rank the single changes that would help");
  command->add_option("scenario", options->scenario, "Scenario file (TOML)")->required();
  CLI::Option* request = command->add_option("--request", options->request,
                                             "Explain this request, by its id in requests.csv");
  command
      ->add_option("--percentile", options->percentile,
                   "Explain the request at this percentile of ttft, tpot or e2e, such as tpot:99.9")
      ->capture_default_str()
      ->excludes(request);
  command->add_option("--metric", options->metric, "With --request: explain its ttft, tpot or e2e")
      ->capture_default_str()
      ->needs(request);
  add_set_option(*command, options->overrides);
  command->add_flag("--split-only", options->split_only,
                    "Show only where the time went, without simulating changes");
  command->add_option("--report", options->report_path,
                      "Write charts and tables to this HTML file");
  command->add_option("--jobs", options->jobs, "Parallel runs (default: one per CPU)")
      ->check(above_zero());
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      examples("  foretoken explain examples/quickstart.toml\n"
               "  foretoken explain examples/swap.toml --percentile tpot:99\n"
               "  foretoken explain examples/quickstart.toml --request 7 --metric ttft "
               "--split-only\n"
               "  foretoken explain examples/quickstart.toml --set \"workload.rate=8 /s\" --json"));
  command->callback([options, &chosen] { chosen = [options] { return explain(*options); }; });
}

}  // namespace foretoken

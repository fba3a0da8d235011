#include "sim/planner/plan/max_load.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>

#include "hardware/cluster_scale.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/planner/plan/plan_metrics.hpp"

namespace foretoken {
namespace {

/// "+20%" as 1.2; nullopt: nothing of the kind.
std::optional<double> parse_factor(std::string_view text) {
  const auto number = [](std::string_view digits, double& out) {
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  };
  double value = 0;
  if (text.ends_with('%') && (text.starts_with('+') || text.starts_with('-'))) {
    if (!number(text.substr(1, text.size() - 2), value)) return std::nullopt;
    return 1 + (text.front() == '-' ? -value : value) / 100;
  }
  if (!text.starts_with('x') && !text.starts_with('*')) return std::nullopt;
  return number(text.substr(1), value) ? std::optional(value) : std::nullopt;
}

/// Of what the bounds allow.
constexpr double load_usual = 0.8;

/// Everything that is asked about one candidate, or one change of it.
struct LoadQuestion {
  LoadQuestion(std::size_t candidate, double target, Replications replications, double guess,
               const LoadSearch::Limits& limits)
      : probe({.candidate = candidate}),
        load(std::make_unique<HighestLoad>(probe, target, replications, guess, limits)) {}

  PlanProbe probe;
  std::unique_ptr<HighestLoad> load, slower, faster;
};

/// Means over the runs that held.
std::vector<ModelAtLoad> models_of(const std::vector<const RunOutcome*>& runs,
                                   const TrafficSample& traffic, double holds) {
  std::vector<ModelAtLoad> models;
  for (const ModelShare& share : traffic.models) {
    ModelAtLoad& model = models.emplace_back(ModelAtLoad{share.name, holds * share.share, 0});
    for (const RunOutcome* run : runs) {
      const auto& groups = run->report.models;
      const auto group = std::ranges::find(groups, share.name, &RequestGroup::name);
      FORETOKEN_CHECK(group != groups.end(), "a report without model {}", share.name);
      const auto count = static_cast<double>(runs.size());
      model.attainment += group->attainment / count;
      model.ttft_p99_ms += group->ttft_ms.p99 / count;
      model.tpot_p99_ms += group->tpot_ms.p99 / count;
    }
  }
  return models;
}

LoadAnswer answer_of(const HighestLoad& load, const TrafficSample& traffic) {
  const double rate = traffic.rate.value();
  LoadAnswer answer;
  answer.impossible = load.impossible();
  if (load.search().holds()) answer.holds = *load.search().holds() * rate;
  if (load.search().fails()) answer.fails = *load.search().fails() * rate;
  answer.is_open = !load.is_over();
  answer.interval = {answer.holds, answer.fails.value_or(answer.holds)};
  if (load.best_runs().empty()) return answer;
  answer.models = models_of(load.best_runs(), traffic, answer.holds);
  answer.metrics.assign(figures().size(), 0);
  answer.is_sustained = load.is_sustained();
  for (const RunOutcome* run : load.best_runs()) {
    const std::vector<double> values = figure_values(run->report);
    for (std::size_t m = 0; m < values.size(); ++m)
      answer.metrics[m] += values[m] / static_cast<double>(load.best_runs().size());
  }
  return answer;
}

class MaxLoadSearch {
 public:
  MaxLoadSearch(MaxLoad& result, const PlanRequests& requests, const MaxLoadOptions& options,
                PlanRuns& runs)
      : result_(result),
        requests_(requests),
        options_(options),
        runs_(runs),
        target_(result.space.slo.percentile / 100),
        replications_(requests.of_fleet(result.settings.replications)) {}

  void find() {
    ask_base();
    if (options_.wants_intervals && result_.is_complete) ask_intervals();
    if (result_.is_complete) ask_changes();
    judge();
  }

 private:
  [[nodiscard]] double rate() const { return result_.space.traffic.rate.value(); }

  /// Changed hardware has other bounds than the candidate's.
  [[nodiscard]] LoadSearch::Limits limits(std::size_t candidate, bool bounded) const {
    LoadSearch::Limits limits{.tolerance = result_.settings.tolerance};
    const double units = result_.space.candidates[candidate].bounds.units;
    if (bounded && units > 0) limits.ceiling = 1 / units;
    return limits;
  }

  /// Once stopped, the searches know what was proven until then.
  void run(const std::vector<HighestLoad*>& searches) {
    try {
      run_tasks({searches.begin(), searches.end()}, runs_);
    } catch (const PlanStopped&) {
      result_.is_complete = false;
    }
  }

  void ask_base() {
    std::vector<HighestLoad*> searches;
    std::vector<LoadQuestion> questions;
    for (std::size_t i = 0; i < result_.space.candidates.size(); ++i) {
      const PlanCandidate& candidate = result_.space.candidates[i];
      MaxLoadRow& row = result_.rows.emplace_back();
      row.candidate = i;
      row.base.impossible =
          candidate.impossible.empty() ? candidate.bounds.too_large : candidate.impossible;
      if (row.base.impossible.empty() && candidate.bounds.attainment < target_)
        row.base.impossible =
            "too few requests would meet the SLO at any load: the steps alone take longer";
      if (!row.base.impossible.empty()) continue;
      const double guess = candidate.bounds.units > 0 ? load_usual / candidate.bounds.units : 1.0;
      questions.emplace_back(i, target_, replications_, guess, limits(i, true));
    }
    for (const LoadQuestion& question : questions) searches.push_back(question.load.get());
    run(searches);
    for (const LoadQuestion& question : questions) {
      const std::size_t i = question.probe.candidate;
      LoadAnswer& base = result_.rows[i].base = answer_of(*question.load, result_.space.traffic);
      if (base.metrics.empty()) continue;
      const StepError& error = question.load->best_runs().front()->report.step_error;
      base.half_width = error.half_width(result_.settings.confidence);
    }
  }

  /// The same searches with all steps longer, or shorter; what was found says where to begin.
  void ask_intervals() {
    std::vector<LoadQuestion> questions;
    for (const MaxLoadRow& row : result_.rows) {
      if (row.base.holds == 0) continue;
      const double width = 1 + row.base.half_width, found = row.base.holds / rate();
      LoadQuestion question(row.candidate, target_, replications_, found, {});
      const auto at = [&](double slowdown) {
        PlanProbe probe = question.probe;
        probe.slowdown = slowdown;
        return std::make_unique<HighestLoad>(probe, target_, replications_, found / slowdown,
                                             limits(row.candidate, false));
      };
      question.slower = at(width);
      question.faster = at(1 / width);
      questions.push_back(std::move(question));
    }
    std::vector<HighestLoad*> searches;
    for (const LoadQuestion& question : questions) {
      searches.push_back(question.slower.get());
      searches.push_back(question.faster.get());
    }
    run(searches);
    if (!result_.is_complete) return;
    for (const LoadQuestion& question : questions) {
      LoadAnswer& base = result_.rows[question.probe.candidate].base;
      const auto slow = question.slower->search().holds();
      const auto fast = question.faster->search().fails();
      base.interval.low = slow ? std::min(base.holds, *slow * rate()) : 0;
      if (fast) base.interval.high = std::max(base.interval.high, *fast * rate());
    }
  }

  void ask_changes() {
    std::vector<LoadQuestion> questions;
    std::vector<HighestLoad*> searches;
    for (MaxLoadRow& row : result_.rows) {
      for (std::size_t c = 0; c < result_.changes.size(); ++c) {
        const double found = row.base.holds > 0 ? row.base.holds / rate() : 1.0;
        questions.emplace_back(row.candidate, target_, replications_, found,
                               limits(row.candidate, false));
        LoadQuestion& question = questions.back();
        question.probe.change = static_cast<int>(c) + 1;
        question.load = std::make_unique<HighestLoad>(question.probe, target_, replications_, found,
                                                      limits(row.candidate, false));
      }
    }
    for (std::size_t q = 0; q < questions.size(); ++q) {
      const bool is_asked = result_.rows[questions[q].probe.candidate].base.impossible.empty();
      if (is_asked) searches.push_back(questions[q].load.get());
    }
    run(searches);
    if (!result_.is_complete) return;
    for (const LoadQuestion& question : questions)
      result_.rows[question.probe.candidate].changed.push_back(
          answer_of(*question.load, result_.space.traffic));
  }

  void judge() {
    double most = 0;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      const double worth =
          result_.rows[i].base.holds / result_.space.candidates[i].unit_dollars_per_hour;
      if (!(worth > most)) continue;  // what cannot be holds and costs nothing
      most = worth;
      result_.best = i;
    }
    if (!result_.best) return;
    const MaxLoadRow& best = result_.rows[*result_.best];
    result_.run = requests_.whole_run({.candidate = best.candidate,
                                       .kind = PlanProbe::Kind::whole,
                                       .load = best.base.holds / rate()});
  }

  MaxLoad& result_;
  const PlanRequests& requests_;
  const MaxLoadOptions& options_;
  PlanRuns& runs_;
  double target_;
  Replications replications_;
};

}  // namespace

HardwareChange HardwareChange::parse(const std::string& text) {
  const auto equals = text.find('=');
  std::string name = text.substr(0, equals);
  for (const std::string_view prefix : {"gpu.", "cluster.", "node.", "fabric."}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  const std::vector<std::string_view> known = scalable_quantities();
  if (std::ranges::find(known, name) == known.end()) {
    throw ConfigError({"--vary " + text}, unknown_name_message("quantity", name, known));
  }
  const auto factor =
      equals == std::string::npos ? std::nullopt : parse_factor(text.substr(equals + 1));
  if (!factor || !(*factor >= 0.01 && *factor <= 100)) {
    throw ConfigError({"--vary " + text},
                      fmt::format("must say by how much, as {0}=+20%, {0}=-10% or {0}=x2", name));
  }
  return {text, std::move(name), *factor};
}

const ModelAtLoad* LoadAnswer::tightest() const {
  const auto least = std::ranges::min_element(models, {}, &ModelAtLoad::attainment);
  return least == models.end() ? nullptr : &*least;
}

double MaxLoad::dollars_per_million(std::size_t row, const LoadAnswer& answer) const {
  const double tokens = answer.holds * space.traffic.output_tokens_mean() * 3600;
  return tokens > 0 ? space.candidates[rows[row].candidate].unit_dollars_per_hour / tokens * 1e6
                    : std::numeric_limits<double>::infinity();
}

double MaxLoad::break_even_factor(const MaxLoadRow& row, std::size_t change) const {
  return row.base.holds > 0 ? row.changed[change].holds / row.base.holds : 0;
}

MaxLoad find_max_load(const PlanSettings& settings, const LoadScenario& load,
                      ScenarioRunner& runner, const MaxLoadOptions& options) {
  MaxLoad result;
  result.settings = settings;
  result.changes = options.changes;
  result.space = plan_space(settings, load, PlanSizing::cluster);
  const PlanRequests requests = result.space.requests();
  const auto asked_for = [&](const PlanProbe& probe) {
    std::vector<RunRequest> asked = requests.requests(probe);
    for (RunRequest& request : asked) {
      if (probe.change == 0) break;
      const HardwareChange& change = result.changes[static_cast<std::size_t>(probe.change) - 1];
      request.changes.emplace_back(fmt::format("cluster.scale.{}", change.quantity), change.factor);
    }
    return asked;
  };
  PlanRuns runs(runner, asked_for, options.progress, options.store);
  MaxLoadSearch(result, requests, options, runs).find();
  result.runs = runs.made();
  return result;
}

}  // namespace foretoken

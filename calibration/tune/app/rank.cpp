// `foretoken-tune rank`: which kernels are worth tuning first. What a kernel at the ceiling would
// save is its share of the time times the part of it beyond the ceiling; shares are those of the
// suite's own shapes, or of a serving step that `foretoken step --json` wrote.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/standing_text.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/search.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken::tune {
namespace {

struct RankFlags {
  InputFlags inputs;
  CeilingFlags ceilings;
  std::string step;
  bool takes_best = false;
  bool is_json = false;
};

struct Ranked {
  const Problem* problem = nullptr;
  Position position;
  double seconds = 0;  // all shapes together
  double share = 0;    // of the time of all
  /// Of the time of all, if this kernel were at its ceiling. 0 without one.
  [[nodiscard]] double saving() const {
    return position.ceiling.times ? share * std::max(0.0, 1 - position.standing.time_share) : 0;
  }
  /// The same with the roof in the ceiling's place: what nobody says can be reached.
  [[nodiscard]] double above_roof() const { return share * std::max(0.0, 1 - position.roof_share); }
};

/// Microseconds of a step by type of kernel.
std::map<std::string, double> step_times(const std::string& path) {
  const Value root = load_json(path);
  Diagnostics diagnostics;
  std::map<std::string, double> times;
  const Value* kernels = root.is_object() ? root.find("kernels") : nullptr;
  if (kernels == nullptr || !kernels->is_array()) {
    throw ConfigError({path, 0, 0}, "has no kernels: write it with `foretoken step … --json`");
  }
  for (const Value& entry : std::get<ValueArray>(kernels->data)) {
    if (!entry.is_object()) throw ConfigError({path, 0, 0}, "a kernel is not an object");
    TableReader table(entry, diagnostics, "kernels");
    std::string kernel;
    double time = 0;
    table.require("kernel", kernel);
    table.require("time_us", time);
    times[kernel] += time;
  }
  diagnostics.throw_if_any();
  return times;
}

/// A step's time goes to the kernel of its type; to several of one type in parts, by their time on
/// their own shapes.
void share_out_step(const std::map<std::string, double>& times, std::vector<Ranked>& ranked) {
  double total = 0;
  for (const auto& [kernel, time] : times) total += time;
  std::map<std::string, double> own;
  const auto type_of = [](const Ranked& one) {
    return one.problem->serving ? one.problem->serving->kernel : std::string();
  };
  for (const Ranked& one : ranked) own[type_of(one)] += one.seconds;
  for (Ranked& one : ranked) {
    const auto found = times.find(type_of(one));
    one.share = found == times.end() || total <= 0
                    ? 0
                    : found->second / total * one.seconds / own.at(type_of(one));
  }
}

std::vector<Ranked> ranking(const std::vector<Problem>& problems, Evaluator& evaluator,
                            const RankFlags& flags) {
  const Ceilings ceilings(flags.ceilings.folder);
  std::vector<Ranked> ranked;
  for (const Problem& problem : problems) {
    Judge judge(problem, evaluator);
    const Candidate start = candidate_at(problem, start_state(problem));
    const std::vector<double> seconds =
        (flags.takes_best ? judge.best() : judge.judge(start)).evaluation.seconds;
    const CeilingAnswer ceiling = ceiling_of(problem, evaluator.gpu(), ceilings);
    ranked.push_back(
        {&problem,
         position_of(problem, start, seconds, ceiling, evaluator.gpu(), flags.ceilings.margin),
         std::accumulate(seconds.begin(), seconds.end(), 0.0), 0});
  }
  if (flags.step.empty()) {
    double total = 0;
    for (const Ranked& one : ranked) total += one.seconds;
    for (Ranked& one : ranked) one.share = one.seconds / total;
  } else {
    share_out_step(step_times(flags.step), ranked);
  }
  // Those with a ceiling first, the others by how far they are from the roof.
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    const bool known = a.position.ceiling.times.has_value();
    if (known != b.position.ceiling.times.has_value()) return known;
    return known ? a.saving() > b.saving() : a.above_roof() > b.above_roof();
  });
  return ranked;
}

int run_rank(const RankFlags& flags) {
  std::vector<Problem> problems = chosen_problems(flags.inputs.suite);
  const auto evaluator = chosen_evaluator(flags.inputs, 1);
  keep_judgeable(problems, *evaluator, flags.inputs.suite);
  if (flags.takes_best && !evaluator->is_exhaustible()) {
    throw ConfigError({"--best", 0, 0}, "evaluates whole spaces; use a recording or simulated");
  }
  const std::vector<Ranked> ranked = ranking(problems, *evaluator, flags);
  ValueArray rows;
  double saved = 0, unknown = 0;
  if (!flags.is_json) say("{:20} {:>8} {:>8}  {}\n", "kernel", "share", "saves", "why");
  for (const Ranked& one : ranked) {
    saved += one.saving();
    if (!one.position.ceiling.times) unknown += one.share;
    Value row = ValueObject{{"kernel", one.problem->name},
                            {"seconds", one.seconds},
                            {"share", one.share},
                            {"saves", one.saving()},
                            {"ceiling", position_value(one.position)}};
    rows.push_back(std::move(row));
    if (flags.is_json) continue;
    const std::string saves =
        one.position.ceiling.times ? fmt::format("{:.1f} %", 100 * one.saving()) : "?";
    say("{:20} {:>6.1f} % {:>8}  {}\n", one.problem->name, 100 * one.share, saves,
        position_text(one.position));
  }
  if (flags.is_json) {
    say("{}\n", to_json(ValueObject{
                    {"saves", saved}, {"without_ceiling", unknown}, {"kernels", std::move(rows)}}));
    return 0;
  }
  say("at the ceiling everywhere: {:.1f} % less time; {:.1f} % is in kernels without one\n",
      100 * saved, 100 * unknown);
  return 0;
}

}  // namespace

void add_rank(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<RankFlags>();
  CLI::App* command = program.add_subcommand("rank", "Rank kernels by how much tuning would save");
  flags->inputs.add_to(*command);
  flags->ceilings.add_to(*command);
  command->add_option(
      "--step", flags->step,
      "Take time shares from `foretoken step … --json`, not from the suite's shapes");
  command->add_flag(
      "--best", flags->takes_best,
      "Compare the best implementation of each space with the ceiling, not the untouched one");
  command->add_flag("--json", flags->is_json, "Print the ranking as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return run_rank(*flags); }; });
}

}  // namespace foretoken::tune

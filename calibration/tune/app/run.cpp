// `foretoken-tune run`: tunes kernels with one policy and tells what it found. With --cache, a run
// that was killed goes on where it stopped: the same command repeats the same choices, and what was
// evaluated is not evaluated again.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/rewriter_flags.hpp"
#include "calibration/tune/app/standing_text.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/comparison.hpp"
#include "calibration/tune/search.hpp"
#include "calibration/tune/traffic.hpp"
#include "sim/base/change.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::tune {
namespace {

struct RunFlags {
  InputFlags inputs;
  std::string policy = "kernelband";
  std::vector<std::string> settings;
  RewriterFlags rewriter;
  int prior = 1000;
  int budget = 20;
  std::uint64_t seed = 1;
  std::string steps, best;
  std::string traffic, model;
  std::string objective = "cost";
  int tp = 1;
  CeilingFlags ceilings;
  bool stops = false;  // at the ceiling
  bool is_json = false;
};

/// "stopped after 7 of 20", "nothing left to try after 7 of 20", "budget used up".
std::string end_text(const Trajectory& trajectory, int budget) {
  if (trajectory.end == End::budget) return "budget used up";
  return fmt::format("{} after {} of {}",
                     trajectory.end == End::enough ? "stopped" : "nothing left to try",
                     trajectory.steps.size(), budget);
}

std::string_view end_name(End end) {
  return end == End::enough ? "ceiling" : end == End::no_arm ? "nothing_left" : "budget";
}

/// "stands for 12,800 launches, sizes 1.2x off, 300 more are out of reach".
std::string share_text(const TrafficShare& share) {
  std::string text =
      fmt::format("stands for {:.0f} launches, sizes {:.2f}x off", share.launches, share.distance);
  if (share.left_out > 0) text += fmt::format(", {:.0f} more are out of reach", share.left_out);
  return text;
}

/// Of the objective: all launches that the problem's shapes stand for.
double part_of(const Traffic& traffic, const Problem& problem,
               const std::vector<double>& by_shape) {
  double sum = 0;
  for (std::size_t i = 0; i < problem.weights.size(); ++i) sum += problem.weights[i] * by_shape[i];
  return sum / traffic.units();
}

/// What the kernel takes of the objective, untouched and at its best; seconds of a step or of TPOT.
struct TrafficParts {
  double before = 0, after = 0;
};

std::string parts_text(const Traffic& traffic, const TrafficParts& parts) {
  const double whole = traffic.mean_seconds();
  const double saved = 100 * (parts.before - parts.after) / whole;
  if (traffic.objective() == Objective::tpot) {
    return fmt::format(
        "{:.1f} us of TPOT, untouched {:.1f}; the run's TPOT {:.0f} us, {:.1f} % less",
        1e6 * parts.after, 1e6 * parts.before, 1e6 * whole, saved);
  }
  return fmt::format(
      "{:.1f} us a step, untouched {:.1f}; the run's mean step {:.0f} us: GPU time, and "
      "with it cost, {:.1f} % less",
      1e6 * parts.after, 1e6 * parts.before, 1e6 * whole, saved);
}

Value parts_value(const Traffic& traffic, const TrafficShare& share, const TrafficParts& parts) {
  const std::string unit = traffic.objective() == Objective::tpot ? "us_of_tpot" : "us_a_step";
  return ValueObject{{"objective", std::string(enum_name(traffic.objective()))},
                     {"launches", share.launches},
                     {"left_out", share.left_out},
                     {"distance", share.distance},
                     {"untouched_" + unit, 1e6 * parts.before},
                     {unit, 1e6 * parts.after},
                     {"saved", (parts.before - parts.after) / traffic.mean_seconds()}};
}

/// Leaves out what the run does not launch; shares are those of the problems that stay.
/// `may_take_shapes`: who judges can judge others than the suite's.
std::vector<TrafficShare> weigh_all(std::vector<Problem>& problems, const Traffic& traffic,
                                    bool may_take_shapes) {
  std::vector<TrafficShare> shares;
  std::erase_if(problems, [&](Problem& problem) {
    if (may_take_shapes) traffic.take_shapes(problem);
    const TrafficShare share = traffic.weigh(problem);
    if (share.launches > 0) shares.push_back(share);
    return share.launches == 0;
  });
  if (shares.empty()) {
    throw ConfigError({"--traffic", 0, 0},
                      "the run launches none of these kernels near any of their shapes; give "
                      "others with --shapes");
  }
  return shares;
}

int run_run(const RunFlags& flags) {
  const PolicyRegistry registry = policy_catalog();
  Value options;
  apply_changes(options, parse_changes(flags.settings));
  std::vector<Problem> problems = chosen_problems(flags.inputs.suite);
  const auto evaluator = chosen_evaluator(flags.inputs, flags.seed);
  keep_judgeable(problems, *evaluator, flags.inputs.suite);
  std::optional<Traffic> traffic;
  std::vector<TrafficShare> shares;
  if (!flags.traffic.empty()) {
    traffic.emplace(flags.traffic, flags.model, flags.tp, *parse_enum<Objective>(flags.objective));
    shares = weigh_all(problems, *traffic,
                       flags.inputs.evaluator != "replay" && flags.inputs.suite.shapes.empty());
  }
  ChosenRewriter chosen(flags.rewriter);
  const auto recorded = prior_recording(flags.inputs);
  std::optional<OutputFile> steps;
  if (!flags.steps.empty()) steps.emplace(flags.steps);
  if (!flags.best.empty()) std::filesystem::create_directories(flags.best);
  const Ceilings ceilings(flags.ceilings.folder);
  ValueArray found;
  double log_sum = 0;
  for (const Problem& problem : problems) {
    Judge judge(problem, *evaluator);
    std::vector<PriorSample> prior;
    if (recorded) prior = prior_of_others(*recorded, problem.name, flags.prior, flags.seed);
    const auto policy =
        make_policy(registry, flags.policy, options, {flags.seed, flags.budget, prior});
    const auto rewriter = chosen.make(problem, *evaluator, flags.seed);
    const CeilingAnswer ceiling = ceiling_of(problem, evaluator->gpu(), ceilings);
    const auto is_at_ceiling = [&](const std::vector<double>& seconds) {
      return standing_of(*ceiling.times, seconds).is_at_ceiling(flags.ceilings.margin);
    };
    Trajectory trajectory = search(judge, *rewriter, *policy, flags.budget, RewardRule::clipped,
                                   flags.stops && ceiling.times ? Enough(is_at_ceiling) : Enough());
    trajectory.policy = flags.policy;
    trajectory.seed = flags.seed;
    if (steps) steps->write(to_text(trajectory));
    const auto fastest = std::ranges::min_element(trajectory.pool, {}, &PoolEntry::time);
    const Candidate full = complete(problem, fastest->candidate);
    if (!flags.best.empty()) {
      write_file(std::filesystem::path(flags.best) / (problem.name + ".cu"), full.source);
    }
    const std::string parameters =
        full.state.empty() ? identity_of(full) : text_of(problem, full.state);
    int failed = 0;
    for (const Step& step : trajectory.steps) failed += step.status == Status::ok ? 0 : 1;
    log_sum += std::log(1 / fastest->time);
    const Position position = position_of(problem, fastest->candidate, fastest->seconds, ceiling,
                                          evaluator->gpu(), flags.ceilings.margin);
    found.emplace_back(ValueObject{{"kernel", problem.name},
                                   {"speedup", 1 / fastest->time},
                                   {"evaluations", static_cast<int>(trajectory.steps.size())},
                                   {"failed", failed},
                                   {"parameters", parameters},
                                   {"ended", std::string(end_name(trajectory.end))},
                                   {"ceiling", position_value(position)}});
    TrafficParts parts;
    if (traffic) {
      parts = {part_of(*traffic, problem, trajectory.pool.front().seconds),
               part_of(*traffic, problem, fastest->seconds)};
      std::get<ValueObject>(found.back().data)
          .emplace_back("traffic", parts_value(*traffic, shares[found.size() - 1], parts));
    }
    if (!flags.is_json) {
      say("{:20} {:7.3f}x  {:3} evaluations, {} failed  {}\n", problem.name, 1 / fastest->time,
          trajectory.steps.size(), failed, parameters);
      say("{:20} {}; {}\n", "", position_text(position), end_text(trajectory, flags.budget));
      if (traffic) {
        say("{:20} {}\n{:20} {}\n", "", share_text(shares[found.size() - 1]), "",
            parts_text(*traffic, parts));
      }
      std::fflush(stdout);
    }
  }
  if (steps) {
    steps->finish();
    steps->publish();
  }
  const double mean = std::exp(log_sum / static_cast<double>(problems.size()));
  if (flags.is_json) {
    ValueObject result = {
        {"policy", flags.policy}, {"geometric_mean", mean}, {"kernels", std::move(found)}};
    if (flags.rewriter.rewriter == "chat") result.emplace_back("chat", chosen.usage_value());
    say("{}\n", to_json(result));
  } else {
    say("geometric mean {:.3f}x\n{}", mean, chosen.usage_text());
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* command = program.add_subcommand("run", "Tune kernels with one policy");
  flags->inputs.add_to(*command);
  command->add_option("--policy", flags->policy, "See `foretoken-tune list`")
      ->capture_default_str();
  command->add_option("--set", flags->settings, "KEY=VALUE of the policy, e.g. lambda=0.3")
      ->take_all();
  flags->rewriter.add_to(*command);
  command->add_option("--prior", flags->prior, "Attempts to learn from --prior-log")
      ->capture_default_str();
  command->add_option("--budget", flags->budget, "Evaluations per kernel")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed)->capture_default_str();
  CLI::Option* model =
      command->add_option("--traffic-model", flags->model, "Model that the run served");
  CLI::Option* traffic = command->add_option("--traffic", flags->traffic,
                                             "Steps of a run (foretoken simulate --steps): a "
                                             "kernel counts as often as the run launches it");
  traffic->needs(model);
  command
      ->add_option("--objective", flags->objective,
                   "With --traffic, what to lower: cost (GPU time: every step "
                   "counts once) or tpot (a step counts for each answer that waits for it)")
      ->check(CLI::IsMember({"cost", "tpot"}))
      ->needs(traffic)
      ->capture_default_str();
  command->add_option("--traffic-tp", flags->tp, "Tensor-parallel ranks of the run")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--steps", flags->steps, "Write every step as a line of JSON");
  command->add_option("--best", flags->best, "Folder for the source of each best kernel");
  command->add_flag("--stop-at-ceiling", flags->stops,
                    "End a kernel's search once it reaches the best fifth of comparable launches");
  flags->ceilings.add_to(*command);
  command->add_flag("--json", flags->is_json, "Print the result as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return run_run(*flags); }; });
}

}  // namespace foretoken::tune

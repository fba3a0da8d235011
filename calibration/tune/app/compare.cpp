// `foretoken-tune compare`: policies against each other at equal rounds, with confidence intervals
// over seeds. `replay` is the same on a recording.
#include <cmath>
#include <filesystem>
#include <memory>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/chart.hpp"
#include "calibration/tune/comparison.hpp"
#include "sim/base/change.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::tune {
namespace {

struct CompareFlags {
  InputFlags inputs;
  ComparisonOptions options;
  std::vector<std::string> settings;
  std::string out;
  std::string against;
  bool is_json = false;
};

std::vector<double> at_round(const std::vector<std::vector<double>>& by_seed, std::size_t round) {
  std::vector<double> values;
  for (const auto& curve : by_seed) values.push_back(curve[round]);
  return values;
}

void write_files(const Comparison& comparison, const CompareFlags& flags) {
  const std::filesystem::path folder(flags.out);
  std::filesystem::create_directories(folder);
  Outputs outputs;
  OutputFile& curves = outputs.open(folder / "curves.csv");
  curves.write(
      "policy,round,speedup,speedup_low,speedup_high,regret,regret_low,regret_high,"
      "open_regret\n");
  const std::string sample = fmt::format(
      "{} kernels, {} seeds; bands: 95 % confidence of the mean over seeds; right: value at "
      "{} evaluations",
      comparison.problems.size(), flags.options.seeds, flags.options.budget);
  Chart speedups{"Best speed-up so far, geometric mean over kernels",
                 sample,
                 "evaluations",
                 "speed-up",
                 {},
                 false};
  // Of the sums, which all rise, nobody could tell one from another.
  Chart regrets{"Regret (Equation 5) per evaluation, mean over kernels: sub-linear where it falls",
                sample,
                "evaluations",
                "regret / evaluations",
                {},
                false};
  for (const PolicyResult& result : comparison.policies) {
    Curve speedup{result.policy, {}, {}, {}, {}}, regret{result.policy, {}, {}, {}, {}};
    for (std::size_t round = 0; round <= static_cast<std::size_t>(flags.options.budget); ++round) {
      const Interval s = interval_of(at_round(result.speedup, round));
      const Interval r = interval_of(at_round(result.regret, round));
      curves.write(fmt::format("{},{},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g}\n",
                               result.policy, round, s.mean, s.low, s.high, r.mean, r.low, r.high,
                               interval_of(at_round(result.open, round)).mean));
      for (const auto& [curve, of] : {std::pair{&speedup, &s}, std::pair{&regret, &r}}) {
        if (curve == &regret && round == 0) continue;
        const double per = curve == &regret ? static_cast<double>(round) : 1;
        curve->x.push_back(static_cast<double>(round));
        curve->y.push_back(of->mean / per);
        curve->low.push_back(of->low / per);
        curve->high.push_back(of->high / per);
      }
    }
    speedups.curves.push_back(std::move(speedup));
    regrets.curves.push_back(std::move(regret));
  }
  OutputFile& kernels = outputs.open(folder / "kernels.csv");
  kernels.write("policy,kernel,best_of_space,speedup,speedup_low,speedup_high\n");
  for (const PolicyResult& result : comparison.policies) {
    for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
      const Interval s = interval_of(result.by_problem[p]);
      kernels.write(fmt::format("{},{},{:.5g},{:.5g},{:.5g},{:.5g}\n", result.policy,
                                comparison.problems[p], comparison.best_of_space[p], s.mean, s.low,
                                s.high));
    }
  }
  OutputFile& steps = outputs.open(folder / "trajectories.jsonl");
  for (const Trajectory& trajectory : comparison.trajectories) steps.write(to_text(trajectory));
  if (can_draw()) {
    outputs.write(folder / "speedup.png", png_of(speedups));
    outputs.write(folder / "regret.png", png_of(regrets));
  }
  outputs.publish();
}

/// Mean of paired differences of logarithms of speed-ups, and of regrets, `result` less `other`.
std::pair<Interval, Interval> paired(const PolicyResult& result, const PolicyResult& other) {
  const std::vector<double> a = result.last_speedups(), b = other.last_speedups();
  const std::vector<double> c = result.last_regrets(), d = other.last_regrets();
  std::vector<double> speedup, regret;
  for (std::size_t i = 0; i < a.size(); ++i) {
    speedup.push_back(100 * (a[i] / b[i] - 1));
    regret.push_back(c[i] - d[i]);
  }
  return {interval_of(speedup), interval_of(regret)};
}

Value as_value(const Interval& interval) {
  return ValueObject{{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

const PolicyResult* named(const Comparison& comparison, const std::string& name) {
  for (const PolicyResult& result : comparison.policies) {
    if (result.policy == name) return &result;
  }
  return nullptr;
}

void print_json(const Comparison& comparison, const PolicyResult* against) {
  ValueArray policies;
  for (const PolicyResult& result : comparison.policies) {
    ValueObject object{{"policy", result.policy},
                       {"speedup", as_value(interval_of(result.last_speedups()))},
                       {"regret", as_value(interval_of(result.last_regrets()))},
                       {"open_regret", as_value(interval_of(result.last_open_regrets()))},
                       {"fast_at_1", as_value(interval_of(result.fast))},
                       {"best", as_value(interval_of(result.highest))},
                       {"share_of_best", as_value(interval_of(result.share_of_best))}};
    if (against != nullptr && against != &result) {
      const auto [speedup, regret] = paired(*against, result);
      object.emplace_back("lead_percent", as_value(speedup));
      object.emplace_back("regret_difference", as_value(regret));
    }
    policies.emplace_back(std::move(object));
  }
  say("{}\n", to_json(ValueObject{{"policies", std::move(policies)}}));
}

void print_table(const Comparison& comparison, const CompareFlags& flags,
                 const PolicyResult* against) {
  double log_best = 0;
  for (const double best : comparison.best_of_space) log_best += std::log(best);
  say("{} kernels, {} seeds, {} evaluations each; best of {}: {:.3f}x\n",
      comparison.problems.size(), flags.options.seeds, flags.options.budget,
      flags.inputs.evaluator == "cuda" ? "all that was judged" : "all spaces",
      std::exp(log_best / static_cast<double>(comparison.problems.size())));
  say("{:24} {:>22} {:>22} {:>6} {:>8} {:>7} {:>8}", "policy", "speed-up (95 %)", "regret (95 %)",
      "open", "Fast@1", "best", "of best");
  if (against != nullptr) say("  {:>26} {:>26}", flags.against + " leads by", "regret less by");
  say("\n");
  for (const PolicyResult& result : comparison.policies) {
    const Interval speedup = interval_of(result.last_speedups());
    const Interval regret = interval_of(result.last_regrets());
    say("{:24} {:8.3f} [{:.3f}, {:.3f}] {:6.3f} [{:.3f}, {:.3f}] {:6.2f} {:6.1f} % {:6.2f} {:6.1f} "
        "%",
        result.policy, speedup.mean, speedup.low, speedup.high, regret.mean, regret.low,
        regret.high, interval_of(result.last_open_regrets()).mean,
        100 * interval_of(result.fast).mean, interval_of(result.highest).mean,
        100 * interval_of(result.share_of_best).mean);
    if (against != nullptr && against != &result) {
      const auto [lead, more] = paired(*against, result);
      say("  {:+7.2f} % [{:+.2f}, {:+.2f}] {:+8.3f} [{:+.3f}, {:+.3f}]", lead.mean, lead.low,
          lead.high, -more.mean, -more.high, -more.low);
    }
    say("\n");
  }
}

int run_compare(CompareFlags& flags) {
  const PolicyRegistry registry = policy_catalog();
  if (flags.options.policies.empty()) {
    for (const auto& entry : registry.entries()) flags.options.policies.push_back(entry.name);
  }
  for (const std::string& setting : flags.settings) {
    apply_changes(flags.options.policy_options, {Change::parse(setting)});
  }
  for (const auto& [name, value] : std::get<ValueObject>(flags.options.policy_options.data)) {
    (void)registry.find(name, value.position);
  }
  std::vector<Problem> problems = chosen_problems(flags.inputs.suite);
  const auto evaluator = chosen_evaluator(flags.inputs, flags.options.first_seed);
  keep_judgeable(problems, *evaluator, flags.inputs.suite);
  const auto prior = prior_recording(flags.inputs);
  flags.options.prior_from = prior.get();
  const Comparison comparison =
      compare(problems, *evaluator, registry, flags.options, [](const std::string&) {});
  const PolicyResult* against = nullptr;
  if (!flags.against.empty()) {
    against = named(comparison, registry.find(flags.against, {"--against", 0, 0}).name);
    if (against == nullptr) {
      throw ConfigError({"--against", 0, 0}, flags.against + " is not among --policies");
    }
  }
  if (flags.is_json)
    print_json(comparison, against);
  else
    print_table(comparison, flags, against);
  if (!flags.out.empty()) write_files(comparison, flags);
  return 0;
}

void add(CLI::App& program, Action& chosen, const char* name, const char* summary, bool is_replay) {
  const auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = program.add_subcommand(name, summary);
  if (is_replay) {
    flags->inputs.evaluator = "replay";
    command->add_option("recording", flags->inputs.log, "CSV of `record`, plain or gzip")
        ->required();
    flags->inputs.suite.add_to(*command);
    command->add_option("--gpu", flags->inputs.gpu, "GPU whose peaks profiles are relative to")
        ->capture_default_str();
  } else {
    flags->inputs.add_to(*command);
  }
  ComparisonOptions& options = flags->options;
  command
      ->add_option("--policies", options.policies,
                   "Policies to compare, comma-separated (default: all)")
      ->delimiter(',');
  command->add_option("--seeds", options.seeds, "Number of seeds")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--seed", options.first_seed, "First seed")->capture_default_str();
  command->add_option("--budget", options.budget, "Evaluations per kernel")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--prior", options.prior, "Attempts on all other kernels to learn priors from")
      ->check(CLI::Range(0, 10000000))
      ->capture_default_str();
  command->add_flag("--listed{false}", options.is_seeded,
                    "Try a strategy's moves in the header's order, not at random");
  command->add_flag_callback(
      "--signed", [flags] { flags->options.reward = RewardRule::signed_; },
      "Penalize slower children");
  command->add_option("--set", flags->settings, "POLICY.KEY=VALUE, e.g. kernelband.lambda=0.3")
      ->take_all();
  command->add_option("--against", flags->against, "Policy to compare each other one with");
  command->add_option("--out", flags->out, "Folder for CSV, PNG and every step");
  command->add_flag("--json", flags->is_json, "Print the table as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return run_compare(*flags); }; });
}

}  // namespace

void add_compare(CLI::App& program, Action& chosen) {
  add(program, chosen, "compare", "Compare policies, with confidence intervals", false);
}
void add_replay(CLI::App& program, Action& chosen) {
  add(program, chosen, "replay", "Compare policies on a recording, without a GPU", true);
}

}  // namespace foretoken::tune

// `foretoken-tune prior`: how well a profile tells which strategy will help, on kernels that the
// prior never saw, by costs and by hardware counters.
#include <cmath>
#include <memory>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/comparison.hpp"
#include "calibration/tune/prior_quality.hpp"
#include "sim/base/json.hpp"

namespace foretoken::tune {
namespace {

struct PriorFlags {
  std::string recording, counters, gpu = "h200-sxm";
  SuiteFlags suite;
  int epochs = 5;
  bool is_json = false;
};

/// Mean over kernels of one kind's area less another's, with its interval over kernels.
Interval difference(const std::vector<PriorQuality>& kernels, ProfileKind kind, ProfileKind other,
                    std::array<double, 3> PriorQuality::*area) {
  std::vector<double> sample;
  for (const PriorQuality& kernel : kernels) {
    const std::array<double, 3>& areas = kernel.*area;
    sample.push_back(areas[static_cast<std::size_t>(kind)] -
                     areas[static_cast<std::size_t>(other)]);
  }
  return interval_of(sample);
}

void print_table(const std::vector<PriorQuality>& kernels) {
  say("Probability that an attempt that helped ranks above one that did not, by heads trained\n"
      "on all other kernels (0.5: chance). Within: among attempts of one strategy.\n"
      "\n"
      "{:20} {:>8} {:>6}  {:>6} {:>6} {:>8}  {:>6} {:>8}\n",
      "kernel", "attempts", "helped", "none", "costs", "counters", "within", "counters");
  std::array<double, 3> all{}, within{};
  double attempts = 0;
  for (const PriorQuality& kernel : kernels) {
    say("{:20} {:8} {:4.0f} %  {:6.2f} {:6.2f} {:8.2f}  {:6.2f} {:8.2f}\n", kernel.kernel,
        kernel.attempts, 100 * kernel.successes, kernel.all[0], kernel.all[1], kernel.all[2],
        kernel.within[1], kernel.within[2]);
    attempts += kernel.attempts;
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      all[kind] += kernel.all[kind] / static_cast<double>(kernels.size());
      within[kind] += kernel.within[kind] / static_cast<double>(kernels.size());
    }
  }
  say("{:20} {:8.0f} {:6}  {:6.3f} {:6.3f} {:8.3f}  {:6.3f} {:8.3f}\n", "mean", attempts, "",
      all[0], all[1], all[2], within[1], within[2]);
  const auto told = [&](ProfileKind kind, ProfileKind other, std::string_view what) {
    const Interval d = difference(kernels, kind, other, &PriorQuality::all);
    say("{}: {:+.3f} [{:+.3f}, {:+.3f}]\n", what, d.mean, d.low, d.high);
  };
  told(ProfileKind::counters, ProfileKind::costs, "counters less costs");
  told(ProfileKind::costs, ProfileKind::none, "costs less none");
  told(ProfileKind::counters, ProfileKind::none, "counters less none");
}

void print_json(const std::vector<PriorQuality>& kernels) {
  ValueArray rows;
  for (const PriorQuality& kernel : kernels) {
    ValueObject row{
        {"kernel", kernel.kernel}, {"attempts", kernel.attempts}, {"helped", kernel.successes}};
    for (std::size_t kind = 0; kind < kernel.all.size(); ++kind) {
      row.emplace_back(profile_kind_names[kind],
                       ValueObject{{"all", kernel.all[kind]}, {"within", kernel.within[kind]}});
    }
    rows.emplace_back(std::move(row));
  }
  say("{}\n", to_json(ValueObject{{"kernels", std::move(rows)}}));
}

int run_prior(const PriorFlags& flags) {
  std::vector<Problem> suite = chosen_problems(flags.suite);
  const auto recorded = make_replay(flags.recording, load_gpu(flags.gpu, {"--gpu", 0, 0}));
  keep_judgeable(suite, *recorded, flags.suite);
  const CounterLog counted(flags.counters);
  std::vector<KernelAttempts> kernels;
  for (const Problem& problem : suite) {
    KernelAttempts attempts = attempts_at(problem, *recorded, counted);
    if (!attempts.samples[0].empty()) kernels.push_back(std::move(attempts));
  }
  if (kernels.size() < 3) {
    throw ConfigError({flags.counters, 0, 0},
                      fmt::format("holds counters of {} of the recording's kernels; a prior is "
                                  "evaluated on a held-out kernel, so at least 3 are needed",
                                  kernels.size()));
  }
  const std::vector<PriorQuality> judged = prior_quality(kernels, flags.epochs);
  flags.is_json ? print_json(judged) : print_table(judged);
  return 0;
}

}  // namespace

void add_prior(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<PriorFlags>();
  CLI::App* command = program.add_subcommand(
      "prior", "Evaluate how well profiles from costs and counters predict which strategy helps");
  command->add_option("recording", flags->recording, "CSV of record")->required();
  command->add_option("--counters", flags->counters, "CSV of count")->required();
  flags->suite.add_to(*command);
  command->add_option("--gpu", flags->gpu, "GPU of the recording")->capture_default_str();
  command->add_option("--epochs", flags->epochs, "Training epochs of the heads")
      ->capture_default_str();
  command->add_flag("--json", flags->is_json, "Print the table as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return run_prior(*flags); }; });
}

}  // namespace foretoken::tune

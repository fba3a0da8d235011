// foretoken-calibrate choose: which launches to measure on a new GPU, out of those that one could.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "calibration/app/subcommand.hpp"
#include "calibration/say.hpp"
#include "calibration/selection/launch_choice.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/random.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

struct ChooseCommand {
  std::string gpu, cases, out = "chosen", artifacts;
  std::size_t count = 50;
};

/// A row of the file, as it stands there, and what the networks make of it.
struct Candidate {
  std::string text;
  std::vector<float> state;
};

std::string row_text(const CsvRows& rows, int columns) {
  std::string text;
  for (int i = 0; i < columns; ++i) text += fmt::format("{}{}", i > 0 ? "," : "", rows.text(i));
  return text;
}

class Choice {
 public:
  explicit Choice(const ChooseCommand& command)
      : command_(command), gpu_(load_gpu(command.gpu, {"--gpu"})), trained_(command.artifacts) {}

  /// Writes the chosen rows of one file; returns how many, of each family.
  std::map<std::string, std::size_t> choose(const std::filesystem::path& path) const {
    CsvRows rows(path);
    const int columns = case_column_count(rows);
    std::map<std::string, std::vector<Candidate>> candidates;
    while (rows.next()) {
      if (is_aside(rows)) continue;
      const Kernel kernel = row_kernel(rows, columns);
      const EstimatorFamily* family = family_of(kernel, gpu_);
      const Artifact* artifact = family == nullptr ? nullptr : trained_.find(*family);
      if (artifact == nullptr) continue;
      try {
        candidates[std::string(family->name())].push_back(
            {row_text(rows, columns), network_state(*family, *artifact, kernel, gpu_)});
      } catch (const PredictionError&) {
        continue;  // the GPU has no path for it, so there is nothing to measure
      }
    }
    std::map<std::string, std::size_t> counts;
    if (candidates.empty()) return counts;
    std::filesystem::create_directories(command_.out);
    const auto out = std::filesystem::path(command_.out) / path.filename().replace_extension();
    std::string text = fmt::format(
        "# format: {}\n# gpu_spec: {}\n{}\n", dataset_format, gpu_.name,
        fmt::join(std::span(rows.columns()).first(static_cast<std::size_t>(columns)), ","));
    for (auto& [family, list] : candidates) counts[family] = add_chosen(list, text);
    write_file(out.extension() == ".csv" ? out : std::filesystem::path(out) += ".csv", text);
    return counts;
  }

 private:
  /// In another order than the file's, whose rhythm an even thinning of candidates would meet.
  std::size_t add_chosen(std::vector<Candidate>& candidates, std::string& text) const {
    RandomStream stream = RandomStreams(1).stream("candidates");
    for (std::size_t i = candidates.size(); i > 1; --i) {
      std::swap(candidates[i - 1], candidates[stream() % i]);
    }
    std::vector<std::vector<float>> states;
    for (const Candidate& candidate : candidates) states.push_back(candidate.state);
    const auto chosen = choose_launches(states, command_.count);
    for (const std::size_t index : chosen) text += candidates[index].text + '\n';
    return chosen.size();
  }

  const ChooseCommand& command_;
  GpuSpec gpu_;
  TrainedFamilies trained_;
};

int choose(const ChooseCommand& command) {
  const Choice choice(command);
  std::size_t sum = 0;
  for (const auto& path : measured_files(command.cases)) {
    for (const auto& [family, count] : choice.choose(path)) {
      say("{}: {} launches of {}\n", path.filename().string(), count, family);
      sum += count;
    }
  }
  if (sum == 0) {
    throw ConfigError({command.cases},
                      fmt::format("has no case that a trained family prices on '{}'; see "
                                  "calibration/datasets/README.md for the format",
                                  command.gpu));
  }
  say("-> {}; measure them, for example with foretoken-measure all --only {}\n", command.out,
      command.out);
  return 0;
}

}  // namespace

void add_choose(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "choose", "Choose the most informative launches to measure on a new GPU");
  auto command = std::make_shared<ChooseCommand>();
  subcommand->add_option("--gpu", command->gpu, "GPU: name or TOML file")->required();
  subcommand
      ->add_option("cases", command->cases,
                   "Candidate launches: a dataset or a folder of them, with or without times "
                   "(foretoken-measure all --cases)")
      ->required();
  subcommand->add_option("--count", command->count, "Launches per family")
      ->check(CLI::PositiveNumber);
  subcommand->add_option("--out", command->out,
                         "Folder for the chosen launches, one file per input");
  subcommand->add_option("--artifacts", command->artifacts, "Folder of your own artifacts");
  subcommand->callback([command, &chosen] { chosen = [command] { return choose(*command); }; });
}

}  // namespace foretoken

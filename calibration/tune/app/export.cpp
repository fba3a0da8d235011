// `foretoken-tune export`: evaluations of a recording or a cache as measured launches in the format of
// calibration/datasets, which the rest of Foretoken reads: `foretoken diagnose` holds them against
// the best of their kind and so says which kernels are worth tuning and when to stop, and
// `foretoken-calibrate adapt` turns them into prices for what-if runs. Times are warm.
#include <algorithm>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/evaluation_log.hpp"
#include "calibration/tune/reward.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken::tune {
namespace {

struct Key {
  std::string_view name;
  std::string_view value;  // an expression of the dimensions, or a word as it is
  bool is_word = false;
};

struct Case {
  std::string_view kernel;  // of the suite
  std::vector<Key> keys;    // of a `foretoken predict` case
};

// The suite's kernels that serving knows too. Ours are in fp16, which costs what bf16 does: tables and
// ceilings are of bf16.
const std::vector<Case>& cases() {
  constexpr Key dtype{"dtype", "bf16", true};
  static const std::vector<Case> known{
      {"rms_norm", {{"kernel", "rms_norm", true}, {"tokens", "rows"}, {"dim", "columns"}, dtype}},
      {"add_rms_norm",
       {{"kernel", "fused_add_rms_norm", true}, {"tokens", "rows"}, {"dim", "columns"}, dtype}},
      {"embedding",
       {{"kernel", "embedding", true}, {"tokens", "tokens"}, {"dim", "width"}, dtype}},
      {"rope",
       {{"kernel", "rope", true},
        {"tokens", "tokens"},
        {"heads", "2 * heads"},
        {"head_dim", "128"},
        dtype}},
      {"matmul", {{"kernel", "gemm", true}, {"m", "m"}, {"n", "n"}, {"k", "k"}, dtype}},
      {"matvec", {{"kernel", "gemm", true}, {"m", "batch"}, {"n", "n"}, {"k", "k"}, dtype}}};
  return known;
}

struct ExportFlags {
  std::string log, kernel, to;
  std::string which = "best";
};

/// The entry with the highest weighted speed-up over the untouched kernel.
const LogEntry& best_of(const std::vector<const LogEntry*>& entries, const LogEntry& untouched) {
  return **std::ranges::max_element(entries, {}, [&](const LogEntry* entry) {
    return weighted_speedup(untouched.evaluation.seconds, entry->evaluation.seconds);
  });
}

int run_export(const ExportFlags& flags) {
  std::vector<std::string_view> known;
  for (const Case& one : cases()) known.push_back(one.kernel);
  const auto found = std::ranges::find(cases(), flags.kernel, &Case::kernel);
  if (found == cases().end()) {
    throw ConfigError({"--kernel", 0, 0},
                      unknown_name_message("kernel of serving", flags.kernel, known));
  }
  const std::vector<Problem> suite = load_suite();
  const auto problem = std::ranges::find(suite, flags.kernel, &Problem::name);
  FORETOKEN_CHECK(problem != suite.end(), "the suite has no {}", flags.kernel);
  const EvaluationLog log = EvaluationLog::load(flags.log);
  std::vector<const LogEntry*> entries;
  for (const auto& [key, entry] : log.entries()) {
    if (entry.problem == problem->name && entry.evaluation.status == Status::ok) {
      entries.push_back(&entry);
    }
  }
  const LogEntry* untouched =
      log.find_state(problem->name, text_of(*problem, start_state(*problem)));
  if (untouched == nullptr || untouched->evaluation.status != Status::ok) {
    throw ConfigError({flags.log, 0, 0}, "does not hold the untouched " + problem->name);
  }
  if (flags.which == "untouched") entries = {untouched};
  if (flags.which == "best") entries = {&best_of(entries, *untouched)};
  std::ofstream file(flags.to);
  if (!file) throw ConfigError({flags.to, 0, 0}, "cannot be written");
  const auto gpu = log.notes().find("gpu");
  file << "# format: foretoken dataset 1\n# program: foretoken-tune\n# gpu: "
       << (gpu == log.notes().end() ? "unknown" : gpu->second) << '\n';
  for (const Key& key : found->keys) file << key.name << ',';
  file << "time_us,warm_us,parameters\n";
  for (const LogEntry* entry : entries) {
    for (std::size_t i = 0; i < problem->shapes.size(); ++i) {
      const Names names = names_of(*problem, {}, i, 0);
      for (const Key& key : found->keys) {
        file << (key.is_word ? std::string(key.value)
                             : fmt::format("{:.0f}", evaluate(key.value, names)))
             << ',';
      }
      file << ',' << fmt::format("{:.5g}", entry->evaluation.seconds[i] * 1e6) << ','
           << entry->parameters << '\n';
    }
  }
  fmt::print("{}: {} launches of {} {}\n", flags.to, entries.size() * problem->shapes.size(),
             entries.size(), entries.size() == 1 ? entries[0]->parameters : "implementations");
  return 0;
}

}  // namespace

void add_export(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = program.add_subcommand(
      "export", "Evaluations as measured launches, for foretoken diagnose and adapt");
  command->add_option("recording", flags->log, "CSV of `record` or --cache, plain or gzip")
      ->required();
  command->add_option("--kernel", flags->kernel, "Of the suite")->required();
  command->add_option("--to", flags->to, "CSV file")->required();
  command->add_option("--which", flags->which, "best, untouched or all implementations")
      ->check(CLI::IsMember({"best", "untouched", "all"}))->capture_default_str();
  command->callback([flags, &chosen] { chosen = [flags] { return run_export(*flags); }; });
}

}  // namespace foretoken::tune

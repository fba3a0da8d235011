// `foretoken-tune export`: evaluations of a recording or a cache in the formats that the rest of
// Foretoken reads. launches: measured launches as in calibration/datasets, for `foretoken diagnose`
// and `foretoken-calibrate adapt`. tiles: the time of every tile, for `foretoken-calibrate fit`
// (--tiles for products, wave for experts). pool: the tiles worth choosing from, for `foretoken
// select` and the predictor tritonblas. Times are warm.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/evaluation_log.hpp"
#include "calibration/tune/reward.hpp"
#include "calibration/tune/serving.hpp"
#include "calibration/tune/tile_tables.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken::tune {
namespace {

struct ExportFlags {
  SuiteFlags suite;
  std::string log, kernel, to;
  std::string which;  // "": the best as launches, all as tiles
  std::string as = "launches";
  double margin = 0.02;
};

/// Measured implementations of one problem.
struct Measured {
  Problem problem;
  std::string gpu;  // as the recording says
  std::vector<const LogEntry*> entries;
  const LogEntry* untouched = nullptr;
};

/// The entry with the highest weighted speed-up over the untouched kernel.
const LogEntry& best_of(const std::vector<const LogEntry*>& entries, const LogEntry& untouched) {
  return **std::ranges::max_element(entries, {}, [&](const LogEntry* entry) {
    return weighted_speedup(untouched.evaluation.seconds, entry->evaluation.seconds);
  });
}

Problem exported_problem(const ExportFlags& flags) {
  std::vector<Problem> suite = chosen_problems(flags.suite);
  std::vector<std::string_view> known;
  for (const Problem& problem : suite) {
    if (problem.serving) known.push_back(problem.name);
  }
  const auto problem = std::ranges::find(suite, flags.kernel, &Problem::name);
  if (problem == suite.end() || !problem->serving) {
    throw ConfigError({"--kernel", 0, 0},
                      unknown_name_message("kernel of serving", flags.kernel, known));
  }
  return std::move(*problem);
}

Measured measured_of(const ExportFlags& flags, const EvaluationLog& log) {
  Measured measured{exported_problem(flags), "unknown", {}, nullptr};
  const Problem& problem = measured.problem;
  log.check_shapes(problem);
  for (const auto& [key, entry] : log.entries()) {
    if (entry.problem != problem.name || entry.evaluation.status != Status::ok) continue;
    if (entry.evaluation.seconds.size() != problem.shapes.size()) {
      throw ConfigError(
          {flags.log, 0, 0},
          fmt::format("has {} shapes of {}, the suite {}: --shapes says others",
                      entry.evaluation.seconds.size(), problem.name, problem.shapes.size()));
    }
    measured.entries.push_back(&entry);
  }
  measured.untouched = log.find_state(problem.name, text_of(problem, start_state(problem)));
  if (measured.untouched == nullptr || measured.untouched->evaluation.status != Status::ok) {
    throw ConfigError({flags.log, 0, 0}, "does not hold the untouched " + problem.name);
  }
  const auto gpu = log.notes().find("gpu");
  if (gpu != log.notes().end()) measured.gpu = gpu->second;
  if (flags.which == "untouched") measured.entries = {measured.untouched};
  const bool is_best = flags.which == "best" || (flags.which.empty() && flags.as == "launches");
  if (is_best) measured.entries = {&best_of(measured.entries, *measured.untouched)};
  return measured;
}

/// A cell: lists joined by a bar, as in calibration/datasets.
std::string cell(const Value& value) {
  if (value.is_string()) return std::get<std::string>(value.data);
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (!value.is_array()) return fmt::format("{}", std::get<std::int64_t>(value.data));
  std::string text;
  for (const Value& one : std::get<ValueArray>(value.data)) {
    text += (text.empty() ? "" : "|") + cell(one);
  }
  return text;
}

std::string launches_text(const Measured& measured) {
  const Problem& problem = measured.problem;
  std::string text = fmt::format("# format: foretoken dataset 1\n# program: foretoken-tune\n# {}\n",
                                 gpu_note(measured.gpu));
  std::vector<Value> cases;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    cases.push_back(serving_case(problem, i));
  }
  for (const auto& [key, value] : std::get<ValueObject>(cases[0].data)) text += key + ',';
  text += "time_us,warm_us,parameters\n";
  for (const LogEntry* entry : measured.entries) {
    for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
      for (const auto& [key, value] : std::get<ValueObject>(cases[i].data)) {
        text += cell(value) + ',';
      }
      text += fmt::format(",{:.5g},{}\n", entry->evaluation.seconds[i] * 1e6, entry->parameters);
    }
  }
  return text;
}

int run_export(const ExportFlags& flags) {
  Outputs outputs(std::vector<std::filesystem::path>{flags.log});
  outputs.expect(flags.to);
  const EvaluationLog log = EvaluationLog::load(flags.log);
  const Measured measured = measured_of(flags, log);
  const Problem& problem = measured.problem;
  if (flags.as != "launches" && !problem.tile) {
    throw ConfigError({"--as", 0, 0}, problem.name + " has no GEMM tile: its header declares none");
  }
  const std::vector<TiledTimes> tiles =
      flags.as == "launches"
          ? std::vector<TiledTimes>()
          : fastest_by_tile(problem, measured.entries, measured.untouched->evaluation.seconds);
  if (flags.as == "launches") {
    outputs.write(flags.to, launches_text(measured));
    outputs.publish();
    say("{}: {} launches of {} {}\n", flags.to, measured.entries.size() * problem.shapes.size(),
        measured.entries.size(),
        measured.entries.size() == 1 ? measured.entries[0]->parameters : "implementations");
    return 0;
  }
  std::size_t count = tiles.size();
  if (flags.as == "pool") {
    const std::vector<TiledTimes> kept = contenders(tiles, flags.margin);
    count = kept.size();
    outputs.write(flags.to, pool_text(problem, measured.gpu, kept));
  } else {
    outputs.write(flags.to, table_text(problem, measured.gpu, tiles));
  }
  outputs.publish();
  say("{}: {} tiles of {} implementations on {} shapes\n", flags.to, count, measured.entries.size(),
      problem.shapes.size());
  return 0;
}

}  // namespace

void add_export(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = program.add_subcommand(
      "export",
      "Export evaluations as measured launches, tile tables or pools to choose tiles from");
  command->add_option("recording", flags->log, "CSV of `record` or --cache, plain or gzip")
      ->required();
  command->add_option("--kernel", flags->kernel, "Kernel that serving uses")->required();
  command->add_option("--suite", flags->suite.suite, "Folder of additional kernels (*.cu)");
  command->add_option("--shapes", flags->suite.shapes, "TOML with the shapes of the recording");
  command->add_option("--to", flags->to, "Output file")->required();
  command
      ->add_option("--as", flags->as,
                   "launches (for diagnose, adapt), tiles (for foretoken-calibrate fit), or "
                   "pool (for foretoken select and predictor tritonblas)")
      ->check(CLI::IsMember({"launches", "tiles", "pool"}))
      ->capture_default_str();
  command
      ->add_option(
          "--which", flags->which,
          "best, untouched or all implementations (default: best for launches, otherwise all)")
      ->check(CLI::IsMember({"best", "untouched", "all"}));
  command
      ->add_option("--margin", flags->margin,
                   "Pool: keep tiles within this share of the best on some shape")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->callback([flags, &chosen] { chosen = [flags] { return run_export(*flags); }; });
}

}  // namespace foretoken::tune

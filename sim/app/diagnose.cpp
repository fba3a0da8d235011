// foretoken diagnose: measured launches against what the best of their kind reach, so that one sees
// which GPUs and kernels leave time on the table, and where to start tuning.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "kernels/estimators/ceiling.hpp"
#include "kernels/estimators/features.hpp"
#include "kernels/kernel_shape.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"
#include "sim/report/gap_report.hpp"
#include "sim/report/number_text.hpp"
#include "sim/terminal/terminal.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

constexpr std::size_t mistakes_shown_max = 20;

struct DiagnoseOptions {
  std::vector<std::string> datasets;
  std::string gpu, ceilings, csv, svg;
  std::string kernel;  // only this type
  double gap = 0.1;
  std::size_t worst = 10;
  bool is_json = false;
  bool skips_bad_rows = false;
};

/// GPU specifications by name or path, each loaded once.
class Gpus {
 public:
  const GpuSpec& find(const std::string& name, const SourcePosition& position) {
    const auto known = specs_.find(name);
    if (known != specs_.end()) return known->second;
    return specs_.emplace(name, load_gpu(name, position)).first->second;
  }

 private:
  std::map<std::string, GpuSpec, std::less<>> specs_;
};

struct BusiestPipe {
  std::string_view name;
  double cycles = 0;     // of the busiest SM
  double imbalance = 1;  // busiest SM / mean SM
};

BusiestPipe busiest_pipe(const KernelFeatures& features) {
  BusiestPipe busiest;
  const auto show = [&](Bound bound, double cycles, double mean) {
    if (cycles > busiest.cycles) busiest = {enum_name(bound), cycles, mean > 0 ? cycles / mean : 1};
  };
  const auto show_pipe = [&](Bound bound, const PipeFeatures& pipe) {
    show(bound, pipe.max_sm_cycles, pipe.total_cycles);
  };
  show_pipe(Bound::tensor, features.tensor);
  show_pipe(Bound::fma, features.fma);
  show_pipe(Bound::xu, features.xu);
  show(Bound::l2, features.memory.max_sm_l2_cycles, features.memory.l2_cycles);
  return busiest;
}

/// How the SMs share the launch; nothing for a kernel without tasks.
void add_tasks(GapPoint& point, const Kernel& kernel, const GpuSpec& gpu) {
  try {
    const KernelFeatures features = analyze(decompose(kernel, gpu), gpu);
    const BusiestPipe busiest = busiest_pipe(features);
    point.pipe = busiest.name;
    point.waves = features.waves;
    point.imbalance = busiest.imbalance;
  } catch (const PredictionError&) {
    point.pipe.clear();  // the source has no decomposer: only the roof is known
  }
}

class Diagnosis {
 public:
  explicit Diagnosis(const DiagnoseOptions& options)
      : options_(options), ceilings_(options.ceilings) {
    report_.threshold = options.gap;
  }

  void read(const std::filesystem::path& path, bool is_named) {
    const bool is_csv = path.filename().string().find(".csv") != std::string::npos;
    if (!is_named && is_csv && !MeasuredRows::is_dataset(CsvRows(path))) return;
    MeasuredRows rows(path, options_.gpu);
    MeasuredLaunch launch;
    while (next(rows, launch)) {
      const bool is_asked =
          options_.kernel.empty() || kernel_name(launch.kernel) == options_.kernel;
      if (is_asked && !launch.is_aside) add(launch);
    }
  }

  const GapReport& finish() {
    if (!mistakes_.empty() && !options_.skips_bad_rows) {
      if (bad_rows_ > mistakes_.size()) {
        const std::string more =
            fmt::format("and {} more malformed rows", bad_rows_ - mistakes_.size());
        mistakes_.push_back(Diagnostic{SourcePosition{}, more});
      }
      throw ConfigError(std::move(mistakes_));
    }
    if (report_.points.empty() && report_.without_ceiling == 0) {
      throw ConfigError({options_.datasets.front()},
                        "has no measured launch to diagnose; see calibration/datasets/README.md");
    }
    return report_;
  }

  [[nodiscard]] std::size_t bad_rows() const { return bad_rows_; }

 private:
  /// The next sound row; mistakes are kept. One that is no row's (damaged gzip) passes on.
  bool next(MeasuredRows& rows, MeasuredLaunch& launch) {
    while (true) {
      try {
        return rows.next(launch);
      } catch (const ConfigError& error) {
        if (error.diagnostics().front().position.line == 0) throw;
        ++bad_rows_;
        for (const Diagnostic& mistake : error.diagnostics()) {
          if (mistakes_.size() < mistakes_shown_max) mistakes_.push_back(mistake);
        }
      }
    }
  }

  void add(const MeasuredLaunch& launch) {
    const GpuSpec& gpu = gpus_.find(launch.gpu, launch.position);
    try {
      const auto ceiling = ceilings_.find(launch.kernel, gpu);
      if (ceiling) return add_point(launch, *ceiling, gpu);
      leave_out(fmt::format("no trained family has a ceiling for {} on {}",
                            kernel_name(launch.kernel), gpu.name));
    } catch (const PredictionError& error) {
      leave_out(error.what());
    }
  }

  void leave_out(const std::string& why) {
    if (report_.without_ceiling++ == 0) report_.without_ceiling_why = why;
  }

  void add_point(const MeasuredLaunch& launch, const Ceiling& ceiling, const GpuSpec& gpu) {
    const PerformanceGap gap = performance_gap(ceiling, launch.time);
    GapPoint point;
    point.gpu = gpu.name;
    point.family = ceiling.family;
    point.source = launch.source_name;
    point.shape = launch.id.empty() ? kernel_shape(launch.kernel)
                                    : launch.id + ": " + kernel_shape(launch.kernel);
    point.place = fmt::format("{}:{}", launch.position.file, launch.position.line);
    point.measured_us = launch.time.value() * 1e6;
    point.ceiling_us = ceiling.time.value() * 1e6;
    point.efficiency = gap.efficiency;
    point.ceiling = gap.ceiling;
    point.bound_by = enum_name(ceiling.roof.bound_by);
    point.is_transferred = ceiling.origin == Origin::transferred;
    add_tasks(point, launch.kernel, gpu);
    report_.points.push_back(std::move(point));
  }

  const DiagnoseOptions& options_;
  Ceilings ceilings_;
  Gpus gpus_;
  GapReport report_;
  std::vector<Diagnostic> mistakes_;
  std::size_t bad_rows_ = 0;
};

void check_names(const DiagnoseOptions& options) {
  if (!options.gpu.empty()) static_cast<void>(load_gpu(options.gpu, {"--gpu"}));
  const auto names = kernel_case_names();
  if (options.kernel.empty() || std::ranges::find(names, options.kernel) != names.end()) return;
  throw ConfigError({"--kernel"}, unknown_name_message("kernel", options.kernel, names));
}

int diagnose(const DiagnoseOptions& options) {
  check_names(options);
  std::vector<std::filesystem::path> inputs = {options.gpu};
  for (const std::string& dataset : options.datasets)
    for (std::filesystem::path& file : measured_files(dataset)) inputs.push_back(std::move(file));
  Outputs outputs(std::move(inputs));
  for (const std::string& file : {options.csv, options.svg})
    if (!file.empty()) outputs.expect(file);
  Diagnosis diagnosis(options);
  for (const std::string& dataset : options.datasets) {
    const auto files = measured_files(dataset);
    const bool is_named = files.size() == 1 && files.front() == dataset;
    for (const std::filesystem::path& file : files) diagnosis.read(file, is_named);
  }
  const GapReport& report = diagnosis.finish();
  if (!options.svg.empty()) outputs.write(options.svg, gap_svg(report));
  if (!options.csv.empty()) outputs.write(options.csv, gap_csv(report));
  outputs.publish();
  if (options.is_json) {
    show_data(to_json(gap_value(report, options.worst), 2) + "\n");
  } else {
    show("{}", gap_text(report, {.width = terminal_width(stdout),
                                 .colour = shows_colour(stdout),
                                 .worst = options.worst}));
  }
  if (diagnosis.bad_rows() == 0) return 0;
  tell("foretoken: {} passed over\n",
       counted(static_cast<std::int64_t>(diagnosis.bad_rows()), "malformed row"));
  return 1;
}

}  // namespace

void add_diagnose(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<DiagnoseOptions>();
  CLI::App* command = program.add_subcommand(
      "diagnose", "Find measured kernels that run well below what their GPU allows");
  command
      ->add_option("datasets", options->datasets,
                   "Measured launches: datasets (.csv, .csv.gz), folders of them, or JSON lines of "
                   "cases with time_us and gpu")
      ->required();
  command->add_option("--gpu", options->gpu,
                      "GPU of the measurements: name or TOML file (default: as the files say)");
  command->add_option("--kernel", options->kernel,
                      "Only kernels of this type (fused_moe, gemm, ...)");
  command
      ->add_option(
          "--gap", options->gap,
          "Gap between ceiling and efficiency from which a launch counts as underperforming")
      ->check(number_within(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--worst", options->worst, "Number of points to list")
      ->check(zero_or_more())
      ->capture_default_str();
  command->add_option("--csv", options->csv, "Write every point to this CSV file");
  command->add_option("--svg", options->svg, "Draw the distribution of gaps to this SVG file");
  command->add_flag("--json", options->is_json, "Print JSON");
  command->add_flag("--skip-bad-rows", options->skips_bad_rows,
                    "Skip malformed rows (exit status 1) instead of rejecting the file");
  command->add_option("--ceilings", options->ceilings,
                      "Folder of your own ceilings (foretoken-calibrate train --quantile 0.8)");
  command->footer(examples(
      "  foretoken diagnose calibration/datasets/h200/gemm_bf16.csv.gz\n"
      "  foretoken diagnose --kernel fused_moe --svg moe.svg my_measurements/\n"
      "Efficiency: roofline time over measured time. Ceiling: the efficiency that the best "
      "fifth of\ncomparable launches reach (SynPerf, Section VII)."));
  command->callback([options, &chosen] { chosen = [options] { return diagnose(*options); }; });
}

}  // namespace foretoken

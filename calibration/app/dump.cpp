// foretoken-calibrate dump: samples as one CSV, for looking at the data with other tools: the
// shape, the measured time, and for an estimator family its first-order time and features.
#include <fmt/format.h>

#include <algorithm>

#include "calibration/app/sample_columns.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/datasets/family_table.hpp"
#include "calibration/say.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

struct DumpOptions {
  DatasetOptions datasets;
  std::string kernel, family, out;
  std::int64_t every = 1;
  bool as_cases = false;
};

void check_kernel_name(const std::string& name) {
  for (const char* known :
       {"gemm", "attention", "mla", "rms_norm", "fused_add_rms_norm", "silu_and_mul", "fused_moe",
        "embedding", "qk_norm", "rope", "kv_write", "sampling", "topk_routing"}) {
    if (name == known) return;
  }
  throw ConfigError({"--kernel"}, fmt::format("no kernel is called '{}'", name));
}

class Dump {
 public:
  Dump(OutputFile& out, const EstimatorFamily* family) : out_(out), family_(family) {}

  void write(const Sample& sample) {
    const Columns columns = kernel_columns(sample.kernel);
    if (!has_header_) header(columns);
    std::string line =
        fmt::format("{},{},{},{},{:d},{:.6g}", sample.gpu, sample.origin, sample.source_name,
                    sample.layout, is_held_out_layout(sample.layout), sample.time.value() * 1e6);
    for (const auto& [name, value] : columns) line += "," + value;
    if (family_ != nullptr) add_features(line, sample);
    out_.write(line + '\n');
  }

 private:
  void header(const Columns& columns) {
    std::string line = "gpu,origin,source_name,layout,held_out,measured_us";
    for (const auto& [name, value] : columns) line += fmt::format(",{}", name);
    if (family_ != nullptr) {
      line += ",first_order_us,bound_by";
      for (const std::string& name : family_->feature_names()) line += fmt::format(",f_{}", name);
      features_.resize(family_->feature_names().size());
    }
    out_.write(line + '\n');
    has_header_ = true;
  }

  void add_features(std::string& line, const Sample& sample) {
    const GpuSpec& gpu = gpus_.find(sample.gpu);
    const FirstOrder first = family_->first_order(sample.kernel, gpu);
    line += fmt::format(",{:.6g},{}", first.time.value() * 1e6, enum_name(first.bound_by));
    FeatureSink sink(features_);
    family_->features(sample.kernel, gpu, sink);
    FORETOKEN_CHECK(sink.used() == features_.size(), "{}: {} features instead of {}",
                    family_->name(), sink.used(), features_.size());
    for (const float value : features_) line += fmt::format(",{:.7g}", value);
  }

  OutputFile& out_;
  const EstimatorFamily* family_;
  bool has_header_ = false;
  std::vector<float> features_;
  GpuSpecs gpus_;
};

/// Quoted where a comma would end it.
std::string cell(const std::string& text) {
  return text.find(',') == std::string::npos ? text : fmt::format("\"{}\"", text);
}

/// Our own dataset format: what `foretoken diagnose` and --own read.
void write_cases(OutputFile& out, const Dataset& dataset) {
  out.write("# format: foretoken dataset 1\n# program: foretoken-calibrate dump --cases\n");
  bool has_header = false;
  for (const Sample& sample : dataset.samples) {
    Columns columns = case_columns(sample.kernel);
    columns.emplace_back("kernel_source", cell(sample.source_name));
    columns.emplace_back("gpu", sample.gpu);
    columns.emplace_back("time_us", fmt::format("{:.6g}", sample.time.value() * 1e6));
    std::string header, line;
    for (const auto& [name, value] : columns) {
      header += fmt::format("{}{}", header.empty() ? "" : ",", name);
      line += fmt::format("{}{}", line.empty() ? "" : ",", value);
    }
    if (!has_header) out.write(header + '\n');
    has_header = true;
    out.write(line + '\n');
  }
}

int dump(const DumpOptions& options) {
  if (options.kernel.empty() == options.family.empty()) {
    throw ConfigError({"dump"}, "needs exactly one of --kernel and --family");
  }
  const EstimatorFamily* family = options.family.empty() ? nullptr : &find_family(options.family);
  if (family == nullptr) check_kernel_name(options.kernel);
  OutputFile file(options.out);
  GpuSpecs gpus;
  std::int64_t seen = 0;
  const Dataset dataset = load_datasets(options.datasets, [&](const Sample& sample) {
    const bool is_asked = family != nullptr
                              ? family_of(sample.kernel, gpus.find(sample.gpu)) == family
                              : kernel_name(sample.kernel) == options.kernel;
    return is_asked && seen++ % options.every == 0;
  });
  if (options.as_cases) {
    write_cases(file, dataset);
  } else {
    Dump writer(file, family);
    for (const Sample& sample : dataset.samples) writer.write(sample);
  }
  file.finish();
  file.publish();
  say("{} samples written to {}, {} unusable rows excluded\n", dataset.samples.size(), options.out,
      dataset.rows_left_out);
  return 0;
}

}  // namespace

void add_dump(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand("dump", "Write samples with shapes and features as a CSV");
  auto options = std::make_shared<DumpOptions>();
  options->datasets.add_to(*command);
  command->add_option("--kernel", options->kernel, "Kernel type (gemm, attention, fused_moe, …)");
  command->add_option("--family", options->family, "Estimator family: adds T and features");
  command->add_option("--every", options->every, "Keep every Nth sample")
      ->check(CLI::PositiveNumber);
  command->add_flag("--cases", options->as_cases,
                    "Write the format of calibration/datasets instead, for foretoken diagnose");
  command->add_option("--out", options->out, "CSV file to write")->required();
  command->callback([options, &chosen] { chosen = [options] { return dump(*options); }; });
}

}  // namespace foretoken

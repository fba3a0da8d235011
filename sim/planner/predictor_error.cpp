#include "sim/planner/predictor_error.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <span>

#include "sim/base/embedded.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"
#include "sim/planner/plan_metrics.hpp"

namespace foretoken {

// Generated at build time from tables/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_planner_tables();

namespace {

struct HeldOut {
  double error = 0, unseen = 0;
  std::vector<std::string> gpus;
};

/// By predictor and family.
using ErrorTable = std::map<std::string, std::map<std::string, HeldOut>>;

ErrorTable read_table() {
  const EmbeddedFile& file = embedded_planner_tables().front();
  const Value root = parse_toml(file.text, fmt::format("sim/planner/tables/{}.toml", file.stem));
  ErrorTable table;
  Diagnostics diagnostics;
  for (const auto& [predictor, families] : std::get<ValueObject>(root.data)) {
    for (const auto& [family, value] : std::get<ValueObject>(families.data)) {
      TableReader reader(value, diagnostics, predictor + "." + family);
      HeldOut& held_out = table[predictor][family];
      reader.require("error", held_out.error);
      reader.require("unseen", held_out.unseen);
      reader.require("gpus", held_out.gpus);
      reader.finish();
    }
  }
  diagnostics.throw_if_any();
  return table;
}

const ErrorTable& table() {
  static const ErrorTable read = read_table();
  return read;
}

std::string text_at(const Value& table, std::string_view key) {
  const Value* found = table.find(key);
  const auto* text = found != nullptr ? std::get_if<std::string>(&found->data) : nullptr;
  return text != nullptr ? *text : "";
}

std::string format_suffix(const std::string& dtype) {
  if (dtype == "fp8_block" || dtype == "fp8") return dtype;
  if (dtype == "nvfp4" || dtype == "mxfp4") return "4bit";
  return "16bit";
}

/// The table's name of a family of the report.
std::string table_name(const std::string& family, const std::string& dtype,
                       const std::string& expert_dtype) {
  if (family == "gemm") return "gemm_" + format_suffix(dtype);
  if (family == "batched_gemm" || family == "draft") return "gemm_16bit";
  if (family == "fused_moe") {
    const std::string suffix = format_suffix(expert_dtype);
    return suffix.starts_with("fp8") ? "moe_8bit" : "moe_" + suffix;
  }
  return family;
}

HeldOut held_out_of(const std::string& predictor, const std::string& family) {
  const auto& tables = table();
  const auto found = tables.find(predictor);
  const auto& own = found != tables.end() ? found->second : tables.at("roofline");
  const auto row = own.find(family);
  if (row != own.end()) return row->second;
  if (family == "embedding") return tables.at("synperf").at("embedding");
  if (family == "host" || family == "kv_copy") return tables.at("all").at("host");
  return tables.at("all").at("communication");
}

}  // namespace

double StepError::mean_absolute() const {
  double sum = 0;
  for (const FamilyError& family : families) sum += family.part();
  return sum;
}

double StepError::half_width(double confidence) const {
  const double deviation = mean_absolute() * std::sqrt(std::numbers::pi / 2);
  return deviation * boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
}

StepError step_error(const Value& report, const std::string& predictor, const std::string& gpu) {
  const Value* scenario = report.find("scenario");
  const Value* model = scenario != nullptr ? scenario->find("model") : nullptr;
  const Value none;
  if (model == nullptr) model = &none;
  const std::string dtype = text_at(*model, "dtype");
  std::string experts = text_at(*model, "expert_dtype");
  if (experts.empty()) experts = dtype;
  StepError error;
  for (const auto& [family, share] : time_shares(report)) {
    const HeldOut held_out = held_out_of(predictor, table_name(family, dtype, experts));
    const bool is_known = std::ranges::find(held_out.gpus, gpu) != held_out.gpus.end();
    error.families.push_back({family, share, is_known ? held_out.error : held_out.unseen});
  }
  std::ranges::stable_sort(error.families, std::ranges::greater(), &FamilyError::part);
  return error;
}

}  // namespace foretoken

#include "sim/report/step_error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <span>

#include "sim/base/embedded.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

// Generated at build time from tables/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_report_tables();

namespace {

struct HeldOut {
  double error = 0, unseen = 0;
  std::vector<std::string> gpus;
};

/// By predictor and family.
using ErrorTable = std::map<std::string, std::map<std::string, HeldOut>>;

ErrorTable read_table() {
  const EmbeddedFile& file = embedded_report_tables().front();
  const Value root = parse_toml(file.text, fmt::format("sim/report/tables/{}.toml", file.stem));
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

std::string format_suffix(const std::string& dtype) {
  if (dtype == "fp8_block" || dtype == "fp8") return dtype;
  if (dtype == "nvfp4" || dtype == "mxfp4") return "4bit";
  // Weight-only formats: held out nowhere; the widest row stands in.
  if (dtype.starts_with("w4a16") || dtype == "w8a16") return "4bit";
  if (dtype == "int8") return "fp8";
  return "16bit";
}

/// The table's name of a family of the report.
std::string table_name(const PricedBy& by, std::string_view family) {
  if (family == "gemm") return "gemm_" + format_suffix(by.dtype);
  if (family == "embedding") return "kv_write";  // rows copied, as there; not measured alone
  if (family == "batched_gemm" || family == "draft" || family.ends_with("encoder"))
    return "gemm_16bit";
  if (family == "fused_moe") {
    const std::string suffix = format_suffix(by.expert_dtype.empty() ? by.dtype : by.expert_dtype);
    return suffix.starts_with("fp8") ? "moe_8bit" : "moe_" + suffix;
  }
  return std::string(family);
}

HeldOut held_out_of(const std::string& predictor, const std::string& family) {
  const auto& tables = table();
  const auto found = tables.find(predictor);
  const auto& own = found != tables.end() ? found->second : tables.at("roofline");
  const auto row = own.find(family);
  if (row != own.end()) return row->second;
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
  return mean_absolute() * errors_in_half_width(confidence);
}

std::string family_title(std::string_view family) {
  if (family == "gemm") return "GEMM";
  std::string title(family);
  std::ranges::replace(title, '_', ' ');
  return title;
}

double errors_in_half_width(double confidence) {
  return std::sqrt(std::numbers::pi / 2) * normal_quantile(0.5 + confidence / 2);
}

double family_error(const PricedBy& by, std::string_view family) {
  const HeldOut held_out = held_out_of(by.predictor, table_name(by, family));
  const bool is_known = std::ranges::find(held_out.gpus, by.gpu) != held_out.gpus.end();
  return is_known ? held_out.error : held_out.unseen;
}

double server_half_width(std::string_view latency, double confidence) {
  // An end-to-end latency is its tokens' times, all but one of them.
  const char* row = latency == "ttft_ms" ? "server_ttft" : "server_tpot";
  return table().at("all").at(row).error * errors_in_half_width(confidence);
}

StepError step_error(const std::vector<PricedTime>& kinds) {
  StepError error;
  double sum = 0;
  for (const PricedTime& kind : kinds) {
    for (const NamedSeconds& family : kind.time_by) {
      auto found = std::ranges::find(error.families, family.name, &FamilyError::family);
      if (found == error.families.end()) {
        found = error.families.insert(found, {family.name, 0, 0});
      }
      found->share += family.seconds;
      found->error += family.seconds * family_error(kind.by, family.name);
      sum += family.seconds;
    }
  }
  for (FamilyError& family : error.families) {
    if (family.share > 0) family.error /= family.share;
    if (sum > 0) family.share /= sum;
  }
  std::ranges::stable_sort(error.families, std::ranges::greater(), &FamilyError::part);
  return error;
}

}  // namespace foretoken

#include "calibration/evaluate/error_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// What the predictor itself takes where it knows one GPU only (synperf's expected_error).
constexpr double unseen_over_error = 2.5;
constexpr double error_max = 1;  // beyond, a price says nothing
constexpr std::string_view all = "all";

const Value& member(const Value& value, std::string_view key) {
  const Value* found = value.is_object() ? value.find(key) : nullptr;
  if (found == nullptr)
    throw ConfigError(value.position, fmt::format("has no '{}'; is it another command's?", key));
  return *found;
}

const std::string& text(const Value& value, std::string_view key) {
  const auto* found = std::get_if<std::string>(&member(value, key).data);
  if (found == nullptr) throw ConfigError(value.position, fmt::format("'{}' is not a string", key));
  return *found;
}

double number(const Value& value, std::string_view key) {
  const Value& found = member(value, key);
  if (const auto* integer = std::get_if<std::int64_t>(&found.data)) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&found.data);
  if (real == nullptr) throw ConfigError(value.position, fmt::format("'{}' is not a number", key));
  return *real;
}

const ValueArray& list(const Value& value, std::string_view key) {
  const auto* found = std::get_if<ValueArray>(&member(value, key).data);
  if (found == nullptr) throw ConfigError(value.position, fmt::format("'{}' is not a list", key));
  return *found;
}

/// Of one split: errors by family and predictor, and the GPUs of a family.
struct SplitErrors {
  std::map<std::string, std::map<std::string, double>, std::less<>> mape;
  std::map<std::string, std::vector<std::string>, std::less<>> gpus;
  std::vector<std::string> predictors;  // as they come
};

SplitErrors read_split_errors(const Value& report) {
  SplitErrors errors;
  for (const Value& line : list(report, "lines")) {
    const std::string &family = text(line, "family"), &predictor = text(line, "predictor");
    if (text(line, "source") != all) continue;
    if (const std::string& gpu = text(line, "gpu"); gpu != all) {
      std::vector<std::string>& known = errors.gpus[family];
      if (std::ranges::find(known, gpu) == known.end()) known.push_back(gpu);
    } else if (text(line, "split") == all) {
      errors.mape[family][predictor] = number(line, "mape");
      if (std::ranges::find(errors.predictors, predictor) == errors.predictors.end()) {
        errors.predictors.push_back(predictor);
      }
    }
  }
  return errors;
}

/// The larger error of the parts that a split has; negative: it has none.
double largest(const SplitErrors& errors, const ErrorFamily& family, const std::string& predictor) {
  double found = -1;
  for (const std::string_view part : family.parts) {
    const auto by_predictor = errors.mape.find(part);
    if (by_predictor == errors.mape.end()) continue;
    const auto mape = by_predictor->second.find(predictor);
    if (mape != by_predictor->second.end()) found = std::max(found, mape->second);
  }
  return found;
}

std::vector<std::string> gpus_of(const SplitErrors& errors, const ErrorFamily& family) {
  std::vector<std::string> gpus;
  for (const std::string_view part : family.parts) {
    const auto found = errors.gpus.find(part);
    if (found != errors.gpus.end())
      gpus.insert(gpus.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(gpus);
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  return gpus;
}

double rounded_up(double error) { return std::min(error_max, std::ceil(error * 1e3 - 1e-9) / 1e3); }

}  // namespace

const std::vector<ErrorFamily>& error_families() {
  static const std::vector<ErrorFamily> families = {
      {"gemm_16bit", {"gemm_16bit"}},
      {"gemm_fp8", {"gemm_fp8"}},
      {"gemm_fp8_block", {"gemm_fp8_block"}},
      {"gemm_4bit", {"gemm_4bit"}},
      {"attention", {"attention_decode", "attention_prefill"}},
      {"mla", {"mla_decode", "mla_prefill"}},
      {"moe_16bit", {"moe_triton_16bit", "moe_cutlass"}},
      {"moe_8bit", {"moe_triton_8bit", "moe_cutlass", "moe_trtllm"}},
      {"moe_4bit", {"moe_trtllm"}},
      {"rms_norm", {"rms_norm"}},
      {"fused_add_rms_norm", {"fused_add_rms_norm"}},
      {"silu_and_mul", {"silu_and_mul"}},
      {"qk_norm", {"qk_norm"}},
      {"rope", {"rope"}},
      {"kv_write", {"kv_write"}},
      {"sampling", {"sampling"}},
      {"topk_routing", {"topk_routing"}}};
  return families;
}

std::vector<HeldOutError> kernel_errors(const Value& seen, const Value& gpu) {
  const SplitErrors held_out = read_split_errors(seen), left_out = read_split_errors(gpu);
  std::vector<HeldOutError> errors;
  for (const std::string& predictor : held_out.predictors) {
    for (const ErrorFamily& family : error_families()) {
      const double error = largest(held_out, family, predictor);
      if (error < 0) {
        throw ConfigError(seen.position,
                          fmt::format("has no error of {} on {}; evaluate with --family all",
                                      predictor, fmt::join(family.parts, " and ")));
      }
      HeldOutError& found = errors.emplace_back();
      found.predictor = predictor;
      found.family = family.name;
      found.error = error;
      found.gpus = gpus_of(held_out, family);
      const double unseen = largest(left_out, family, predictor);
      found.is_unseen_assumed = unseen < 0;
      // A GPU that was measured is never the harder one.
      found.unseen = std::max(error, found.is_unseen_assumed ? unseen_over_error * error : unseen);
    }
  }
  return errors;
}

std::vector<HeldOutError> kernel_errors(const Value& seen, const std::vector<HeldOutError>& kept) {
  std::vector<HeldOutError> errors = kernel_errors(seen, ValueObject{{"lines", ValueArray{}}});
  for (HeldOutError& found : errors) {
    const HeldOutError& before = find_error(kept, found.predictor, found.family);
    found.is_unseen_assumed = found.gpus.size() == 1;
    if (!found.is_unseen_assumed) found.unseen = std::max(found.error, before.unseen);
  }
  return errors;
}

HeldOutError communication_error(const Value& comm) {
  HeldOutError found{"all", "communication", 0, 0, false, {}};
  double sum = 0;
  int folds = 0;
  for (const Value& line : list(comm, "lines")) {
    if (!text(line, "library").starts_with("nccl") || text(line, "operation") != "all_reduce")
      continue;
    const std::string &split = text(line, "split"), &gpu = text(line, "gpu");
    if (gpu != all && std::ranges::find(found.gpus, gpu) == found.gpus.end())
      found.gpus.push_back(gpu);
    if (text(line, "library") != "nccl bench" || gpu != all || text(line, "size") != all) continue;
    const double error = number(member(line, "formula"), "mape");
    if (split == "8 GPUs from 2 and 4") found.error = error;
    if (!split.ends_with(" left out") || split == "sizes left out") continue;
    sum += error;
    ++folds;
  }
  if (found.error <= 0 || folds == 0)
    throw ConfigError(comm.position,
                      "has no all-reduce of 8 GPUs from 2 and 4, and of GPUs left "
                      "out; it is what evaluate --comm --json writes");
  found.unseen = sum / folds;
  std::ranges::sort(found.gpus);
  return found;
}

HeldOutError host_error(const Value& silicon) {
  double sum = 0;
  int servers = 0;
  for (const Value& server : list(silicon, "host")) {
    if (text(server, "part") != "test") continue;
    sum += std::abs(number(server, "host_alone"));
    ++servers;
  }
  if (servers == 0)
    throw ConfigError(silicon.position,
                      "has no servers with host time that were not calibrated "
                      "on; it is what foretoken validate --silicon --json says");
  return {"all", "host", sum / servers, sum / servers, false, {}};
}

std::vector<HeldOutError> server_errors(const Value& silicon) {
  constexpr double confidence = 0.9;
  std::vector<HeldOutError> found;
  for (const std::string latency : {"ttft", "tpot"}) {
    std::vector<double> off;
    for (const Value& point : list(silicon, "points")) {
      if (text(point, "part") != "calibration" || point.find("failure") != nullptr) continue;
      off.push_back(std::abs(std::log(number(point, "simulated_" + latency + "_ms") /
                                      number(point, "measured_" + latency + "_ms"))));
    }
    if (off.empty())
      throw ConfigError(silicon.position,
                        "has no points of part \"calibration\"; it is what foretoken validate "
                        "--silicon --servers --json says");
    std::ranges::sort(off);
    const auto at = static_cast<std::size_t>(confidence * static_cast<double>(off.size()));
    const double normal = std::sqrt(std::numbers::pi / 2) * 1.6448536269514722;  // of 90 %
    const double error = off[std::min(at, off.size() - 1)] / normal;
    found.push_back({"all", "server_" + latency, error, error, false, {}});
  }
  return found;
}

std::vector<HeldOutError> read_error_table(const Value& table) {
  std::vector<HeldOutError> errors;
  if (!table.is_object()) throw ConfigError(table.position, "is not a table of errors");
  for (const auto& [predictor, families] : std::get<ValueObject>(table.data)) {
    if (!families.is_object()) throw ConfigError(families.position, "is not a table of errors");
    for (const auto& [family, row] : std::get<ValueObject>(families.data)) {
      HeldOutError& error = errors.emplace_back();
      error.predictor = predictor;
      error.family = family;
      error.error = number(row, "error");
      error.unseen = number(row, "unseen");
      for (const Value& gpu : list(row, "gpus"))
        error.gpus.push_back(std::get<std::string>(gpu.data));
      error.is_unseen_assumed = error.gpus.size() == 1;
    }
  }
  return errors;
}

const HeldOutError& find_error(const std::vector<HeldOutError>& errors, std::string_view predictor,
                               std::string_view family) {
  const auto found = std::ranges::find_if(errors, [&](const HeldOutError& error) {
    return error.predictor == predictor && error.family == family;
  });
  if (found != errors.end()) return *found;
  throw ConfigError({"--keep"}, fmt::format("has no [{}.{}], which was not measured anew either",
                                            predictor, family));
}

std::string error_table_text(const std::vector<HeldOutError>& errors,
                             const std::vector<std::string>& provenance) {
  std::string text;
  for (const std::string& line : provenance) text += "# " + line + "\n";
  for (const HeldOutError& error : errors) {
    text += fmt::format("\n[{}.{}]\nerror = {:.3f}\nunseen = {:.3f}{}\n", error.predictor,
                        error.family, rounded_up(error.error), rounded_up(error.unseen),
                        error.is_unseen_assumed ? "  # assumed: one GPU was measured" : "");
    text += "gpus = [";
    for (std::size_t i = 0; i < error.gpus.size(); ++i)
      text += fmt::format("{}\"{}\"", i > 0 ? ", " : "", error.gpus[i]);
    text += "]\n";
  }
  return text;
}

}  // namespace foretoken

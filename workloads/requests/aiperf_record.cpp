#include "workloads/requests/aiperf_record.hpp"

#include <fmt/format.h>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

/// A metric is {"value": 550, "unit": "tokens"}; nullptr if there is none.
const Value* metric_of(const Value& row, std::string_view name) {
  return find_member(row, fmt::format("metrics.{}.value", name));
}

int metric_tokens(const Value& row, std::string_view name) {
  const Value* value = metric_of(row, name);
  if (value == nullptr) throw BadLine(fmt::format("lacks metrics.{}.value", name));
  return token_count_of(*value, name);
}

std::optional<double> metric_seconds(const Value& row, std::string_view name) {
  constexpr double ms_most = 4e12;
  const std::optional<double> ms = number_of(metric_of(row, name));
  if (ms && !(*ms >= 0 && *ms <= ms_most))
    throw BadLine(fmt::format("metrics.{} must be a time in ms", name));
  return ms ? std::optional(1e-3 * *ms) : std::nullopt;
}

}  // namespace

bool is_aiperf_record(std::string_view beginning) {
  return beginning.starts_with('{') &&
         beginning.find("\"request_start_ns\"") != std::string_view::npos;
}

std::optional<AiperfRecord> read_aiperf_record(std::string_view line) {
  const Value row = json_line(line);
  const Value* phase = find_member(row, "metadata.benchmark_phase");
  const auto* name = phase == nullptr ? nullptr : std::get_if<std::string>(&phase->data);
  if (name != nullptr && *name == "warmup") return std::nullopt;
  const Value* cancelled = find_member(row, "metadata.was_cancelled");
  const auto* is_cancelled = cancelled == nullptr ? nullptr : std::get_if<bool>(&cancelled->data);
  if (row.find("error") != nullptr || (is_cancelled != nullptr && *is_cancelled))
    throw FailedRequest();
  const Value& metadata = member(row, "metadata");
  if (!metadata.is_object()) throw BadLine("metadata must be an object");
  return AiperfRecord{
      time_ns(metadata, "request_start_ns", 1e-9), metric_tokens(row, "input_sequence_length"),
      metric_tokens(row, "output_sequence_length"), metric_seconds(row, "time_to_first_token"),
      metric_seconds(row, "request_latency")};
}

}  // namespace foretoken

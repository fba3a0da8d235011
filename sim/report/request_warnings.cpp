#include "sim/report/request_warnings.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"

namespace foretoken {

std::vector<std::string> request_warnings(const Report& report) {
  const auto& requests = report.requests;
  std::vector<std::string> warnings;
  const auto warn = [&](std::int64_t count, const std::string& noun, std::string_view what) {
    if (count > 0) warnings.push_back(fmt::format("{} {}", counted(count, noun), what));
  };
  if (requests.arrived == 0)
    warnings.emplace_back(
        report.warmup_s > 0
            ? "no request is counted: none arrived after the warm-up; lower run.warmup"
            : "no request arrived: the duration or part of the traffic holds none; widen it");
  for (const NamedCount& reason : requests.failed_by) {
    warn(reason.count, "request", fmt::format("failed: {}", failure_text(reason.name)));
  }
  std::int64_t rejected = requests.rejected;
  for (const NamedCount& reason : requests.rejected_by) {
    warn(reason.count, "request", fmt::format("rejected: {}", failure_text(reason.name)));
    rejected -= reason.count;
  }
  warn(rejected, "request", "rejected");
  warn(requests.timed_out, "request", "timed out");
  warn(requests.cancelled, "request", "cancelled");
  warn(requests.retries, "attempt", "lost and retried");
  warn(requests.unfinished, "request", "unfinished at the end");
  warn(requests.skipped_lines, "malformed trace line", "skipped");
  if (!report.steady.is_reached && report.steady.basis != SteadyBasis::run)
    warnings.emplace_back(
        "no steady state: most requests were still open when the last one arrived");
  return warnings;
}

}  // namespace foretoken

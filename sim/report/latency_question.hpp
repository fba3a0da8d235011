// Which latency `foretoken explain` is asked about: a percentile of all requests, or one request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

enum class LatencyMetric { ttft, tpot, e2e };
template <>
struct EnumNames<LatencyMetric> {
  static constexpr auto names = std::to_array<std::string_view>({"ttft", "tpot", "e2e"});
};

struct LatencyQuestion {
  LatencyMetric metric = LatencyMetric::ttft;
  double percentile = 99;                // 0 to 100, of all requests that count
  std::optional<std::uint32_t> request;  // that one instead
  double warmup_s = 0;                   // requests that arrive before do not count

  /// "ttft:99", or "e2e of request 7".
  [[nodiscard]] std::string text() const;
};

/// "ttft:99", "tpot:99.9", "e2e:50". ConfigError at `--percentile` for anything else.
LatencyQuestion parse_latency_question(std::string_view text);
/// "ttft"; ConfigError at `option` that names the nearest.
LatencyMetric parse_latency_metric(std::string_view text, const std::string& option);

/// In milliseconds; nullopt where there is none: not completed, a single token.
std::optional<double> latency_ms(const RequestRow& row, LatencyMetric metric);

struct LatencyAnswer {
  double value_ms = 0;   // of the percentile, or of the request
  std::uint32_t id = 0;  // of the request that stands for it: completed, nearest to the value
};

/// ConfigError for a request that is not in `report` or has no such latency, and if none has.
LatencyAnswer answer(const Report& report, const LatencyQuestion& question);
/// What the error of prices may make of the answer; nullopt: `report` has no intervals, or none of
/// this percentile (it has them of 50, 90, 95, 99 and 100) or of a single request.
std::optional<FigureInterval> answer_interval(const Report& report,
                                              const LatencyQuestion& question);

}  // namespace foretoken

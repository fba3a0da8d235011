// What monitoring and publications keep of traffic without its requests: the family of formats that
// hold rates and distributions. A variant is one .cpp in statistics/ and one line in its catalog;
// it is recognised by what the file begins with. Traces, which hold requests, are
// trace_format.hpp's.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/registry.hpp"
#include "workloads/requests/observed_traffic.hpp"
#include "workloads/requests/time_transform.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {

struct StatisticsOptions {
  std::optional<Seconds> over;       // that lies between the first file and the last
  std::optional<TimeWindow> window;  // of the time that the files tell of
};

class StatisticsFormat {
 public:
  virtual ~StatisticsFormat() = default;
  [[nodiscard]] virtual bool recognises(const TraceHead& head) const = 0;
  /// Throws ConfigError with file, line and remedy.
  [[nodiscard]] virtual ObservedTraffic read(const std::vector<std::filesystem::path>& files,
                                             const StatisticsOptions& options) const = 0;
};

using StatisticsRegistry = Registry<std::function<std::unique_ptr<StatisticsFormat>()>>;

/// prometheus, servegen.
StatisticsRegistry statistics_registry();

/// What `files` hold, statistics or a trace (one file then). `format`: a name of either family, or
/// "" to find out. Throws ConfigError, also for options that mean nothing for what they are.
ObservedTraffic load_traffic(const std::vector<std::filesystem::path>& files,
                             std::string_view format, const StatisticsOptions& options,
                             bool skip_bad_lines);

/// Whether a file is one of statistics, and no trace.
bool is_statistics(const std::filesystem::path& file);

}  // namespace foretoken

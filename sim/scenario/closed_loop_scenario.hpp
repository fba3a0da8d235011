// A scenario from a measured closed-loop point and from what is known of its server beyond the
// point: a TOML file with settings for all servers, for an engine, for one of its versions and for
// a model, each overriding the ones before.
//   requests_per_user = 10            each user sends so many, one after the other
//   calibration_tensor_parallel = 4   points with this layout were looked at to choose the settings
//   [workload]                        keys of the scenario's workload: what clients are like
//   [engines.vllm.engine]             keys of the scenario's tables for servers of this engine
//   [engines."vllm 0.12.0".engine]    … of this version
//   [models.qwen3-32b.model]          … of this model, by its name here
//   [models.qwen3-32b]
//   users_without_slot = 1            so many fewer sequences run at once than there are users
#pragma once

#include <filesystem>
#include <set>

#include "sim/base/value.hpp"
#include "workloads/measurements/closed_loop_points.hpp"

namespace foretoken {

class ServerSettings {
 public:
  /// Presets alone, 10 requests a user, nothing calibrated.
  ServerSettings() = default;
  /// Throws ConfigError with the mistakes of the file; keys of the scenario's tables are looked at
  /// when a scenario is read.
  explicit ServerSettings(const std::filesystem::path& toml);

  /// Whether the point was looked at to choose the settings.
  [[nodiscard]] bool is_calibration(const ClosedLoopPoint& point) const;
  /// The scenario's tables. Throws ConfigError for an engine, a model or a system nobody knows.
  [[nodiscard]] Value scenario(const ClosedLoopPoint& point) const;

 private:
  void apply(std::string_view family, const std::string& name, const ClosedLoopPoint& point,
             Value& scenario) const;

  Value root_;
  std::int64_t requests_per_user_ = 10;
  int calibration_tensor_parallel_ = 0;
};

}  // namespace foretoken

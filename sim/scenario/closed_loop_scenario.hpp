// A scenario from a measured closed-loop point and from what is known of its server beyond the
// point (server_rules.hpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/server_rules.hpp"

namespace foretoken {

/// In place of what the row says; "" = as it says.
struct ServerChoices {
  std::string model, cluster;
};

class ServerSettings {
 public:
  /// Presets alone, 10 requests a user, nothing calibrated.
  ServerSettings() = default;
  explicit ServerSettings(ServerRules rules, ServerChoices choices = {})
      : rules_(std::move(rules)), choices_(std::move(choices)) {}

  /// Whether the point was looked at to choose the settings.
  [[nodiscard]] bool is_calibration(const ClosedLoopPoint& point) const;
  /// The model by its name here. Throws ConfigError for one nobody knows.
  [[nodiscard]] std::string model(const ClosedLoopPoint& point) const;
  /// The scenario's tables. Throws ConfigError for an engine, a model or a system nobody knows.
  [[nodiscard]] Value scenario(const ClosedLoopPoint& row) const;

 private:
  [[nodiscard]] ClosedLoopPoint with_layout(const ClosedLoopPoint& row) const;
  [[nodiscard]] Value model_table(const ClosedLoopPoint& point) const;
  [[nodiscard]] Value workload_table(const ClosedLoopPoint& point) const;
  [[nodiscard]] std::vector<const ServerRule*> rules_for(const ClosedLoopPoint& point) const;

  ServerRules rules_;
  ServerChoices choices_;
};

}  // namespace foretoken

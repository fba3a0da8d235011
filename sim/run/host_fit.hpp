// The constants of a host (HostSettings) that recorded latencies ask for, by damped least squares
// on simulations. What GPUs take is an unknown beside them, held near its price by what prices are
// known to be off, so that an error of prices does not become a host's. A constant that the
// latencies do not show, or that another explains as well, keeps the value it had and is told as
// such.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/host_view.hpp"
#include "sim/serving/settings/host_settings.hpp"

namespace foretoken {

enum class HostFate { fitted, unseen, alike };
template <>
struct EnumNames<HostFate> {
  static constexpr auto names = std::to_array<std::string_view>({"fitted", "unseen", "alike"});
};

struct HostConstant {
  std::string key;  // "host_step"
  Seconds before, after;
  Seconds deviation;  // standard, of what was fitted; 0 = it no longer shows where it is now
  HostFate fate = HostFate::fitted;
  std::string like;  // alike: the constant, or "GPU times", that explains the same
};

struct HostFit {
  HostSettings host;
  std::vector<HostConstant> constants = {};
  double gpu = 1, gpu_deviation = 0;         // what prices would be multiplied by
  double error_before = 0, error_after = 0;  // root mean square of relative errors
};

/// A host, and what prices of GPUs are multiplied by.
struct HostTrial {
  HostSettings host;
  double gpu = 1;
};

/// What HostView::simulated() sees of every trial, of all runs one after the other.
using HostTrials = std::function<std::vector<std::vector<double>>(const std::vector<HostTrial>&)>;

/// `gpu_error`: mean relative error of prices. Throws what `simulate` throws.
HostFit fit_host(const std::vector<HostSight>& recorded, const HostSettings& start,
                 double gpu_error, const HostTrials& simulate);

}  // namespace foretoken

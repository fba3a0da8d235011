// The [front_end] table: what stands in front of all replicas knows of them, how much it takes on,
// and what it does about requests that a failure lost.
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

struct FrontEndSettings {
  Seconds status_interval;           // the router's view of a replica's engine is up to this old
  std::int64_t outstanding_max = 0;  // of a replica; requests beyond are rejected. 0 = no limit
  /// At a request whose replicas fail, the first included; then it has failed. A retry starts from
  /// scratch; tokens that the client has already are made again, but neither sent nor counted
  /// again.
  int attempts_max = 3;
  Seconds retry_delay;  // between a loss and the next attempt

  bool operator==(const FrontEndSettings&) const = default;
};

const Keys<FrontEndSettings>& front_end_keys();

}  // namespace foretoken

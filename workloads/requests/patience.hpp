// How long clients wait before they give up, and which of them change their mind. Each has a random
// stream of its own, named as the key.
#pragma once

#include <optional>

#include "workloads/requests/request.hpp"
#include "workloads/requests/time_distribution.hpp"

namespace foretoken {

struct Patience {
  struct Cancellations {
    double share = 0.0;  // of the requests
    TimeDistribution after = TimeDistribution::fixed(Seconds());
  };
  std::optional<TimeDistribution> timeout;
  std::optional<TimeDistribution> first_token_timeout;
  std::optional<Cancellations> cancellations;
};

/// Of [workload].
const Keys<Patience>& patience_keys();
KeyTable cancellation_key_table();

/// Gives one request after the other its patience.
class PatienceDraws {
 public:
  PatienceDraws(const Patience& patience, const RandomStreams& random);
  /// Draws for the next request.
  void give(Request& request);

 private:
  Patience patience_;
  RandomStream timeout_random_, first_token_random_, cancellation_random_;
};

}  // namespace foretoken

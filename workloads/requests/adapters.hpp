// Which adapter (LoRA) a request asks for: `adapters = { count = 40, share = 0.9, skew = 1 }` of
// the [workload] table. It depends on nothing but the seed and the request's number, or its
// conversation's: all calls of one trajectory ask for the same.
#pragma once

#include <optional>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

struct AdapterTraffic {
  std::int64_t count = 0;  // adapters that are asked for; 0 = none
  double share = 1;        // of the requests; the others want the base model
  double skew = 1;         // adapter i is asked for as often as i^-skew

  [[nodiscard]] bool empty() const { return count == 0; }
};

class AdapterDraws {
 public:
  /// Stream: "adapters".
  AdapterDraws(const AdapterTraffic& traffic, const RandomStreams& random);
  /// The next one, numbers from 0, the most popular first; nullopt: the base model. Draws one
  /// number; none without adapters.
  std::optional<std::uint32_t> next();

 private:
  double share_;
  std::vector<double> up_to_;  // shares of all adapters up to each
  RandomStream random_;
};

/// Gives the request its adapter. What it has in common with others it then has only with those of
/// the same adapter, as keys and values differ: its hashes change. They must be there already.
void give_adapter(std::optional<std::uint32_t> adapter, Request& request);

KeyNote adapters_note();
KeyTable adapters_key_table();
/// Reads `adapters`; absent means none. Reports mistakes.
AdapterTraffic read_adapters(TableReader& workload);
/// Sets the key if there are adapters.
void describe(const AdapterTraffic& adapters, Value& workload);

}  // namespace foretoken

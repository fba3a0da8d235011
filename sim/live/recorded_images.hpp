// The images of requests that are on their way, for `--record`: a record of the simulation has
// none.
#pragma once

#include <string>
#include <unordered_map>

#include "sim/base/ids.hpp"
#include "sim/live/completion_request.hpp"

namespace foretoken {

class RecordedImages {
 public:
  void note(RequestId id, const CompletionRequest& asked);
  /// `,"images":[...]` as workloads/requests/trace_media.hpp reads them, and forgotten; "" = none.
  std::string take(RequestId id);

 private:
  std::unordered_map<std::uint32_t, std::string> images_;  // by id, never walked
};

}  // namespace foretoken

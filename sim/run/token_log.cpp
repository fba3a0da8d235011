#include "sim/run/token_log.hpp"

namespace foretoken {

void TokenLog::on_tokens(RequestId id, std::int64_t /*count*/, Seconds date) {
  if (!gaps_.is_whole) return;
  const std::size_t request = id.value;
  if (request >= last_.size()) {
    last_.resize(request + 1, -1.0);
    gaps_.by_request.resize(request + 1);
  }
  double& last = last_[request];
  if (last >= 0) {
    gaps_.by_request[request].push_back(static_cast<float>(date.value() - last));
    gaps_.is_whole = ++kept_ < kept_max;
  }
  last = date.value();
  if (gaps_.is_whole) return;
  gaps_.by_request.clear();
  last_.clear();
}

}  // namespace foretoken

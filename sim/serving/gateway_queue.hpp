// What waits at the gateway because no replica takes requests, and who goes next. Without
// `queue_max` that is first come, first served, however many. With it the most urgent priority goes
// first, within it the first to come or one tenant after the other; when the queue is full whoever
// is least urgent is refused: the newest of the lowest class, the newcomer if none is lower. As
// llm-d's flow control has it: priority bands with a capacity each, fairness among tenants within a
// band (docs: llm-d.ai, "Flow Control").
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "sim/metrics/request_metrics.hpp"
#include "sim/serving/settings/front_end_settings.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

class GatewayQueue {
 public:
  struct Held {
    Request request;
    RequestRecord record;
  };

  explicit GatewayQueue(const FrontEndSettings& settings) : settings_(settings) {}

  /// Queues `one`. Returns who is refused for want of room: it, another, or nobody.
  std::optional<Held> push(Held one);
  /// The next; there is one.
  Held pop();
  /// Takes a request out, if it is here.
  std::optional<Held> remove(RequestId id);

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  /// Who came in what order.
  struct Place {
    std::uint64_t number = 0;
    Held held;
  };
  /// Requests of one priority.
  struct Band {
    std::map<int, std::deque<Place>> queues;  // by tenant, none empty
    int last_tenant = -1;                     // that was served
    std::int64_t size = 0;
  };

  [[nodiscard]] bool is_class_full(int priority, std::int64_t waiting) const;
  /// Takes an element of a band's queue.
  Held take(std::map<int, Band>::iterator band, std::map<int, std::deque<Place>>::iterator queue,
            std::deque<Place>::iterator place);
  Held take_newest(std::map<int, Band>::iterator band);

  FrontEndSettings settings_;
  std::map<int, Band> bands_;  // the most urgent first, none empty
  std::uint64_t arrivals_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace foretoken

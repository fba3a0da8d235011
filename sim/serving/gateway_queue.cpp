#include "sim/serving/gateway_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace foretoken {

bool GatewayQueue::is_class_full(int priority, std::int64_t waiting) const {
  const auto limit = std::ranges::find(settings_.classes, priority, &QueueClass::priority);
  return limit != settings_.classes.end() && waiting >= limit->queue_max;
}

std::optional<GatewayQueue::Held> GatewayQueue::push(Held one) {
  const bool is_limited = settings_.queue_max > 0;
  const int priority = is_limited ? one.request.priority : 0;
  const bool takes_turns = is_limited && settings_.queue_order == GatewayOrder::round_robin;
  const int tenant = takes_turns ? one.request.tenant : 0;
  std::optional<Held> refused;
  if (is_limited) {
    const auto band = bands_.find(priority);
    if (is_class_full(priority, band != bands_.end() ? band->second.size : 0)) return one;
    if (size_ >= settings_.queue_max) {
      const auto lowest = std::prev(bands_.end());
      if (lowest->first <= priority) return one;
      refused = take_newest(lowest);
    }
  }
  Band& band = bands_[priority];
  band.queues[tenant].push_back({arrivals_++, std::move(one)});
  ++band.size;
  ++size_;
  return refused;
}

GatewayQueue::Held GatewayQueue::pop() {
  const auto band = bands_.begin();
  auto queue = band->second.queues.upper_bound(band->second.last_tenant);
  if (queue == band->second.queues.end()) queue = band->second.queues.begin();
  band->second.last_tenant = queue->first;
  return take(band, queue, queue->second.begin());
}

std::optional<GatewayQueue::Held> GatewayQueue::remove(RequestId id) {
  for (auto band = bands_.begin(); band != bands_.end(); ++band) {
    auto& queues = band->second.queues;
    for (auto queue = queues.begin(); queue != queues.end(); ++queue) {
      const auto place = std::ranges::find(queue->second, id,
                                           [](const Place& one) { return one.held.request.id; });
      if (place != queue->second.end()) return take(band, queue, place);
    }
  }
  return std::nullopt;
}

GatewayQueue::Held GatewayQueue::take(std::map<int, Band>::iterator band,
                                      std::map<int, std::deque<Place>>::iterator queue,
                                      std::deque<Place>::iterator place) {
  Held held = std::move(place->held);
  queue->second.erase(place);
  if (queue->second.empty()) band->second.queues.erase(queue);
  --size_;
  if (--band->second.size == 0) bands_.erase(band);
  return held;
}

GatewayQueue::Held GatewayQueue::take_newest(std::map<int, Band>::iterator band) {
  auto& queues = band->second.queues;
  const auto newest = std::ranges::max_element(
      queues, {}, [](const auto& queue) { return queue.second.back().number; });
  return take(band, newest, std::prev(newest->second.end()));
}

}  // namespace foretoken

#include "sim/live/live_run.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

/// How far time moves at once while flows are under way, whose ends only show when they are there:
/// a token behind one is late by so much at most.
constexpr Seconds flow_step_wall{0.0005};

}  // namespace

void LiveRun::begin(Platform& platform, FrontEnd& front_end,
                    std::function<std::vector<ReplicaGauges>()> gauges) {
  platform_ = &platform;
  front_end_ = &front_end;
  gauges_ = std::move(gauges);
  on_begin_();
}

RequestId LiveRun::submit(Request request, LiveClient& client) {
  const RequestId id{next_id_++};
  request.id = id;
  clients_.emplace(id.value, Client{&client, static_cast<std::size_t>(request.model)});
  arrived_.push_back(std::move(request));
  front_end_->look_again();
  server_->wake();
  return id;
}

void LiveRun::cancel(RequestId id) {
  clients_.erase(id.value);
  if (is_stopped_ || std::erase_if(arrived_, [&](const auto& one) { return one.id == id; }) > 0)
    return;
  front_end_->cancel(id, now());
  server_->wake();
}

std::optional<Request> LiveRun::next() {
  if (arrived_.empty()) return std::nullopt;
  Request request = std::move(arrived_.front());
  arrived_.pop_front();
  return request;
}

Seconds LiveRun::hold(Seconds date, bool has_flows) {
  if (has_flows) date = std::min(date, now() + flow_step_wall * speed_);
  const bool is_ever = std::isfinite(date.value());
  server_->serve_until(is_ever ? std::optional(date.value() / speed_) : std::nullopt);
  if (server_->asked_to_stop()) {
    is_stopped_ = true;
    platform_->stop();
  }
  return std::min(date, now());
}

void LiveRun::on_tokens(RequestId id, std::int64_t count, Seconds date) {
  deliver_at(date, {id, count});
}

void LiveRun::on_request_ended(const RequestRecord& record) {
  metrics_.at(static_cast<std::size_t>(record.model)).add_request(record);
  const Seconds date = record.status == RequestStatus::completed ? record.finished : record.ended;
  deliver_at(date, {record.id, 0, record});
}

void LiveRun::deliver_at(Seconds date, Delivery delivery) {
  if (is_stopped_ || !clients_.contains(delivery.id.value)) return;
  if (date <= platform_->now()) return deliver(date, delivery);
  const auto [due, is_new] = due_.try_emplace(date);
  due->second.push_back(std::move(delivery));
  if (is_new) platform_->at(date, *this, 0);
}

void LiveRun::on_event(std::uint64_t /*tag*/) {
  while (!due_.empty() && due_.begin()->first <= platform_->now()) {
    const auto [date, deliveries] = std::move(*due_.begin());
    due_.erase(due_.begin());
    for (const Delivery& delivery : deliveries) deliver(date, delivery);
  }
}

void LiveRun::deliver(Seconds date, const Delivery& delivery) {
  const auto found = clients_.find(delivery.id.value);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (delivery.tokens > 0) {
    EngineMetrics& metrics = metrics_[client.model];
    if (client.last_token >= Seconds(0.0)) metrics.add_gap(date - client.last_token);
    metrics.add_tokens(delivery.tokens);
    client.last_token = date;
    client.client->on_tokens(delivery.tokens);
    lateness_.add(std::max(Seconds(0.0), now() - date) / speed_, delivery.tokens);
  }
  if (!delivery.end) return;
  LiveClient& told = *client.client;
  clients_.erase(found);
  told.on_end(*delivery.end);
}

}  // namespace foretoken

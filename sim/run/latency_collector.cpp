#include "sim/run/latency_collector.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

constexpr double rounding_s = 1e-10;  // far above what sums of dates lose, far below any step

void add_split(const StepSplit& split, double times, LatencyParts& parts,
               std::vector<BoundTime>& kernels) {
  parts.add(split.parts, times);
  for (const BoundTime& time : split.kernels) {
    add_bound_time(kernels, {time.family, time.bound, time.seconds * times});
  }
}

}  // namespace

LatencyCollector::LatencyCollector(const Scenario& scenario, std::optional<Watched> watched)
    : watched_(watched) {
  const std::vector<PoolSpec> pools = pools_of(scenario);
  const HostSettings& host = std::ranges::find_if(pools, &PoolSpec::prefills)->scenario.engine.host;
  front_end_request_ = host.front_end_request;
  front_end_token_ = host.front_end_token;
}

LatencyCollector::Live& LatencyCollector::live_of(const RequestRecord& record) {
  const auto [found, is_new] = live_.try_emplace(record.id.value);
  Live& live = found->second;
  if (is_new) live.until = record.arrival.value();
  // Nothing was counted between the step that drew the first token and this.
  if (record.first_token >= Seconds(0.0)) live.has_first_token = true;
  return live;
}

void LatencyCollector::on_stage_step(const StageStep& step) {
  if (watched_ && (has_ended_ || step.end <= watched_->arrival)) return;
  for (const Batch& batch : step.batches) {
    for (const BatchEntry& entry : batch.entries) {
      if (is_watched(entry.sequence->record.id) && !entry.sequence->has_ended) {
        take_step(step, entry);
      }
    }
  }
  past_[{step.replica.value, step.stage}].push_back(
      {step.start.value(), step.end.value(), split_step(step, nullptr, LatencyCause::idle)});
}

void LatencyCollector::take_step(const StageStep& step, const BatchEntry& entry) {
  const Sequence& sequence = *entry.sequence;
  const RequestRecord& record = sequence.record;
  const StageKey stage{step.replica.value, step.stage};
  Live& live = live_of(record);
  if (record.preemptions > live.preemptions || record.attempts > live.attempts) {
    live.lost_tokens = live.computed_once;
  }
  take_wait(live, record, stage, step.start.value());
  live.preemptions = record.preemptions;
  live.attempts = record.attempts;
  live.computed_once = std::max(live.computed_once, entry.context_tokens);
  live.last = stage;

  LatencyCause cause = LatencyCause::own_decode;
  if (entry.context_tokens - entry.new_tokens < live.lost_tokens) {
    cause = LatencyCause::recompute;
  } else if (entry.context_tokens <= sequence.prompt_tokens) {
    cause = LatencyCause::own_prefill;
  }
  const double start = step.start.value(), end = step.end.value();
  if (end <= live.until) return;
  const double times = (end - std::max(start, live.until)) / (end - start);
  LatencyPhase& phase = live.phase();
  add_split(split_step(step, &entry, cause), times, phase.parts, phase.kernels);
  live.until = end;
}

void LatencyCollector::take_wait(Live& live, const RequestRecord& record, StageKey stage,
                                 double start) {
  if (start <= live.until) return;
  LatencyPhase& phase = live.phase();
  const bool is_first = live.computed_once == 0;
  if (is_first) {
    const Seconds asked =
        front_end_request_ + front_end_token_ * static_cast<double>(record.prompt_tokens);
    const double front_end = std::min(asked.value(), start - live.until);
    phase.parts[LatencyCause::front_end] += front_end;
    live.until += front_end;
    phase.parts[LatencyCause::queueing] += start - live.until;
    add_past(stage, live.until, start, phase.while_queueing, phase.kernels);
  } else if (record.attempts > live.attempts) {
    phase.parts[LatencyCause::retry] += start - live.until;
  } else if (record.preemptions > live.preemptions) {
    phase.parts[LatencyCause::preempted] += start - live.until;
    LatencyParts ignored;
    add_past(stage, live.until, start, ignored, phase.kernels);
  } else {
    add_past(stage, live.until, start, phase.parts, phase.kernels);
  }
  live.until = start;
}

void LatencyCollector::add_past(StageKey stage, double from, double to, LatencyParts& parts,
                                std::vector<BoundTime>& kernels) const {
  double idle = to - from;
  const auto known = past_.find(stage);
  if (known != past_.end()) {
    const std::vector<PastStep>& steps = known->second;
    for (auto step = std::ranges::upper_bound(steps, from, {}, &PastStep::end);
         step != steps.end() && step->start < to; ++step) {
      const double seconds = std::min(to, step->end) - std::max(from, step->start);
      add_split(step->split, seconds / (step->end - step->start), parts, kernels);
      idle -= seconds;
    }
  }
  parts[LatencyCause::idle] += std::max(0.0, idle);
}

void LatencyCollector::on_send(ReplicaId replica, int stage, Seconds start, Seconds end) {
  if (watched_ && has_ended_) return;
  for (auto& [id, live] : live_) {
    if (live.last != StageKey{replica.value, stage} || live.until < start.value()) continue;
    if (end.value() <= live.until) continue;
    live.phase().parts[LatencyCause::communication] += end.value() - live.until;
    live.until = end.value();
  }
}

void LatencyCollector::on_kv_arrival(ReplicaId replica, Seconds now, const RequestRecord& record,
                                     bool brings_token) {
  if (!is_watched(record.id)) return;
  Live& live = live_of(record);
  LatencyPhase& phase = live.phase();
  const double gap = std::max(0.0, now.value() - live.until);
  const double wait = std::clamp(record.handoff.wait.value(), 0.0, gap);
  phase.parts[LatencyCause::kv_wait] += wait;
  phase.parts[LatencyCause::kv_transfer] += gap - wait;
  live.until = std::max(live.until, now.value());
  live.last = {replica.value, 0};
  if (brings_token) live.has_first_token = true;
}

void LatencyCollector::on_media_arrived(ReplicaId replica, Seconds now, RequestId id) {
  const auto found = live_.find(id.value);
  if (found == live_.end()) return;
  Live& live = found->second;
  live.phase().parts[LatencyCause::image_transfer] += std::max(0.0, now.value() - live.until);
  live.until = std::max(live.until, now.value());
  live.last = {replica.value, 0};
  live.computed_once = 0;  // what follows is a queue again
}

void LatencyCollector::on_request_ended(const RequestRecord& record) {
  if (!is_watched(record.id)) return;
  const auto found = live_.find(record.id.value);
  if (found == live_.end()) return;  // no step ever worked on it
  if (record.status == RequestStatus::completed) {
    LatencySplit& split = splits_[record.id.value] = std::move(found->second.split);
    // What is left of either is the way of the token to the client, which both ends share.
    const auto close = [](LatencyPhase& phase, Seconds whole) {
      phase.whole_s = whole.value();
      const double way = phase.whole_s - phase.parts.sum();
      if (std::abs(way) > rounding_s) phase.parts[LatencyCause::front_end] += way;
      std::ranges::stable_sort(phase.kernels, std::greater(), &BoundTime::seconds);
    };
    close(split.to_first_token, record.ttft());
    close(split.after, record.finished - record.first_token);
  }
  live_.erase(found);
  if (watched_) {
    has_ended_ = true;
    past_.clear();
  }
}

}  // namespace foretoken

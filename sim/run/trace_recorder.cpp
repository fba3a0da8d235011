#include "sim/run/trace_recorder.hpp"

#include <algorithm>

#include "kernels/kernel_shape.hpp"

namespace foretoken {
namespace {

constexpr std::uint32_t requests_process = 1, first_replica_process = 2;
// Threads of a replica's process: a stage, then what it sends, then the next stage.
constexpr std::uint32_t threads_a_stage = 1000, kv_threads = 1'000'000;

std::uint32_t process_of(ReplicaId replica) { return first_replica_process + replica.value; }

TraceTrack stage_track(ReplicaId replica, int stage) {
  return {process_of(replica), static_cast<std::uint32_t>(stage) * threads_a_stage + 1};
}

/// Arrows touch a slice so long after its start: an arrival at the same date comes before.
constexpr Seconds inside(1e-9);

double microseconds(Seconds time) { return time.value() * 1e6; }

/// What a step mostly is: its kind, and its size in `arguments`.
std::string_view describe(const StageStep& step, TraceArguments& arguments) {
  std::int64_t prefill_tokens = 0, prefills = 0, decodes = 0, ranks = 0;
  for (const Batch& batch : step.batches) {
    const AttentionLoad& load = batch.shape.attention;
    prefill_tokens += load.prefill.query_tokens;
    prefills += load.prefill.sequences;
    decodes += load.decode.sequences;
    ranks += batch.empty() ? 0 : 1;
  }
  arguments.add("prefill_tokens", prefill_tokens);
  arguments.add("prefills", prefills);
  arguments.add("decodes", decodes);
  if (step.batches.size() > 1) arguments.add("attention_ranks", ranks);
  const auto add_time = [&](const char* name, Seconds time) {
    if (time > Seconds(0.0)) arguments.add(name, microseconds(time));
  };
  add_time("kv_copies_us", step.compute_from - step.start);
  add_time("host_us", step.host_delay);
  add_time("encoder_us", step.encoder_time);
  add_time("draft_us", step.draft_time);
  add_time("shared_communication_us", step.communication_end - step.communication_from);
  if (step.pricer == nullptr) return "encode";
  return prefills == 0 ? "decode" : decodes == 0 ? "prefill" : "prefill and decode";
}

}  // namespace

std::vector<std::string> replica_names(const Scenario& scenario) {
  std::vector<std::string> names;
  const auto add = [&](PoolRole role) {
    for (const PoolSpec& pool : pools_of(scenario)) {
      if (pool.role != role) continue;
      for (int i = 0; i < replicas_max(pool.scenario); ++i) {
        names.push_back(fmt::format("replica {}", names.size()));
        if (!pool.name.empty()) names.back() += fmt::format(" ({})", pool.name);
      }
    }
  };
  for (const PoolRole role :
       {PoolRole::both, PoolRole::prefill, PoolRole::decode, PoolRole::encode})
    add(role);
  return names;
}

TraceRecorder::TraceRecorder(OutputFile& file, const Scenario& scenario, TraceOptions options)
    : writer_(file),
      links_(writer_, scenario.cluster),
      options_(options),
      replica_names_(replica_names(scenario)) {
  writer_.name_process(requests_process, "requests");
}

TraceRecorder::ReplicaTracks& TraceRecorder::replica_of(ReplicaId id) {
  const auto [found, is_new] = replicas_.try_emplace(id.value);
  if (is_new) writer_.name_process(process_of(id), replica_names_.at(id.value));
  return found->second;
}

TraceRecorder::Stage& TraceRecorder::stage_of(ReplicaId id, int stage) {
  const auto [found, is_new] = replica_of(id).stages.try_emplace(stage);
  if (is_new) writer_.name_thread(stage_track(id, stage), fmt::format("stage {}", stage));
  return found->second;
}

void TraceRecorder::add_lane(TraceTrack track, std::string_view name, std::size_t lane,
                             std::size_t lanes_before) {
  if (lane >= lanes_before) writer_.name_thread(track, name);
}

std::size_t TraceRecorder::take_request_lane(Seconds arrival) {
  const std::size_t before = request_lanes_.size();
  const std::size_t lane = request_lanes_.take(arrival);
  add_lane({requests_process, static_cast<std::uint32_t>(lane) + 1},
           fmt::format("requests, lane {}", lane), lane, before);
  return lane;
}

/// The arrow goes on to `point`; what it came from is no end then.
void TraceRecorder::add_point(RequestId id, const Point& point) {
  const auto found = live_.find(id.value);
  if (found == live_.end()) return;  // it has ended; the step did not know
  std::optional<Point>& last = found->second.last;
  if (last) {
    if (last->track.process == point.track.process && last->track.thread == point.track.thread &&
        last->at == point.at) {
      return;
    }
    writer_.flow(FlowPart::step, last->track, "request", id.value + std::uint64_t{1}, last->at);
  }
  last = point;
}

void TraceRecorder::on_stage_step(const StageStep& step) {
  ReplicaTracks& replica = replica_of(step.replica);
  Stage& stage = stage_of(step.replica, step.stage);
  const TraceTrack track = stage_track(step.replica, step.stage);
  TraceArguments arguments;
  const std::string_view name = describe(step, arguments);
  writer_.slice(track, name, "step", step.start, step.end, arguments);
  const bool shows_kernels =
      options_.kernels_every > 0 && stage.steps % options_.kernels_every == 0;
  ++stage.steps;
  // The halves of an overlapped step have no order that one track could show.
  if (shows_kernels && !step.overlaps) add_parts(step, track);
  if (step.stage == 0) add_counters(step, replica);
}

/// What the step's time went to, one after the other.
void TraceRecorder::add_parts(const StageStep& step, TraceTrack track) {
  const auto add = [&](std::string_view name, Seconds from, Seconds to) {
    if (to > from) writer_.slice(track, name, "part", from, std::min(to, step.end));
  };
  add("kv copies", step.start, step.compute_from);
  Seconds at = step.compute_from + step.host_delay;
  add("host", step.compute_from, at);
  add("encoder", at, at + step.encoder_time);
  at = add_kernels(step, track, at + step.encoder_time);
  add("draft", at, at + step.draft_time);
  add("shared communication", step.communication_from, step.communication_end);
  add("waiting for kv copies", step.communication_end, step.end);
}

/// Equal layers' calls of a kernel stand together. Returns where the next part begins.
Seconds TraceRecorder::add_kernels(const StageStep& step, TraceTrack track, Seconds from) {
  Seconds at = from;
  const Seconds end = std::min(from + step.kernel_time, step.end);
  if (step.pricer == nullptr) return end;
  for (const PricedKernel& kernel : step.pricer->kernels(step.shapes)) {
    if (kernel.is_shared) continue;
    const Seconds next = std::min(at + kernel.price.time * kernel.call.calls, end);
    TraceArguments arguments;
    arguments.add("kernel", kernel_name(kernel.call.kernel));
    if (!std::holds_alternative<Collective>(kernel.call.kernel)) {
      arguments.add("shape", kernel_shape(kernel.call.kernel));
    }
    arguments.add("calls", std::int64_t{kernel.call.calls});
    arguments.add("us_a_call", microseconds(kernel.price.time));
    arguments.add("bound_by", enum_name(kernel.price.bound_by));
    arguments.add("origin", enum_name(kernel.price.origin));
    writer_.slice(track, kernel.call.role, "kernel", at, next, arguments);
    at = next;
  }
  return end;
}

void TraceRecorder::add_counters(const StageStep& step, ReplicaTracks& replica) {
  const std::uint32_t process = process_of(step.replica);
  const bool is_new = !replica.shown;
  const ReplicaLoad before = replica.shown.value_or(ReplicaLoad());
  const ReplicaLoad& now = step.load;
  const auto count = [](double value) { return static_cast<std::int64_t>(value); };
  if (is_new || now.running != before.running || now.waiting != before.waiting) {
    writer_.counter(
        process, "sequences", step.end,
        TraceArguments().add("running", count(now.running)).add("waiting", count(now.waiting)));
  }
  if (is_new || now.kv_used != before.kv_used) {
    writer_.counter(process, fmt::format("KV blocks, of {}", count(step.kv_blocks)), step.end,
                    TraceArguments().add("used", count(now.kv_used)));
  }
  replica.shown = now;
}

void TraceRecorder::on_step(ReplicaId replica, int stage, Seconds start, Seconds /*duration*/,
                            const Batch& batch) {
  const Point here{stage_track(replica, stage), start + inside};
  for (const BatchEntry& entry : batch.entries) {
    const Sequence& sequence = *entry.sequence;
    const RequestId id = sequence.record.id;
    if (stage == 0 && sequence.record.scheduled == batch.scheduled_at && !sequence.has_ended &&
        !live_.contains(id.value)) {
      live_[id.value].lane = take_request_lane(sequence.record.arrival);
      add_point(id, here);
    }
    if (!entry.samples || sequence.has_ended) continue;
    const bool draws_first =
        sequence.produced == 0 && sequence.delivered == 0 && sequence.shows_tokens;
    // The first step after a KV cache was brought, and the second token, which is as good.
    const bool goes_on = sequence.produced == 1 && sequence.record.handoff.has_happened();
    if (draws_first || goes_on || options_.tokens) add_point(id, here);
  }
}

void TraceRecorder::on_send(ReplicaId replica, int stage, Seconds start, Seconds end) {
  TraceLanes& lanes = stage_of(replica, stage).sends;
  const std::size_t before = lanes.size();
  const std::size_t lane = lanes.take(start);
  TraceTrack track = stage_track(replica, stage);
  track.thread += 1 + static_cast<std::uint32_t>(lane);
  add_lane(track, fmt::format("stage {} to {}", stage, stage + 1), lane, before);
  writer_.slice(track, "send", "transfer", start, end);
  lanes.release(lane, end);
}

void TraceRecorder::on_kv_arrival(ReplicaId replica, Seconds now, const RequestRecord& record,
                                  bool /*brings_token*/) {
  const Seconds start = now - record.handoff.transfer;
  TraceLanes& lanes = replica_of(replica).arrivals;
  const std::size_t before = lanes.size();
  const std::size_t lane = lanes.take(start);
  const TraceTrack track{process_of(replica), kv_threads + static_cast<std::uint32_t>(lane)};
  add_lane(track, "KV caches from others", lane, before);
  writer_.slice(track, "KV cache", "transfer", start, now,
                TraceArguments()
                    .add("request", std::int64_t{record.id.value})
                    .add("from", replica_names_.at(record.handoff.from.value))
                    .add("bytes", record.handoff.bytes.value())
                    .add("wait_us", microseconds(record.handoff.wait))
                    .add("exposed_us", microseconds(record.handoff.exposed)));
  lanes.release(lane, now);
  // Layers are sent while others are computed: the arrow must not go back in time.
  const auto live = live_.find(record.id.value);
  if (live == live_.end() || !live->second.last) return;
  const Seconds at = std::max(start, live->second.last->at) + inside;
  if (at + inside < now) add_point(record.id, {track, at});
}

void TraceRecorder::on_request_ended(const RequestRecord& record) {
  const auto found = live_.find(record.id.value);
  const std::size_t lane =
      found != live_.end() ? found->second.lane : take_request_lane(record.arrival);
  const TraceTrack track{requests_process, static_cast<std::uint32_t>(lane) + 1};
  const Seconds end = std::max({record.ended, record.finished, record.arrival});
  writer_.slice(track, "request", "request", record.arrival, end,
                TraceArguments()
                    .add("id", std::int64_t{record.id.value})
                    .add("status", enum_name(record.status))
                    .add("prompt_tokens", record.prompt_tokens)
                    .add("output_tokens", record.output_tokens)
                    .add("preemptions", std::int64_t{record.preemptions}));
  const auto date = [&](Seconds happened) {
    return happened < Seconds(0.0) ? end : std::clamp(happened, record.arrival, end);
  };
  const Seconds scheduled = date(record.scheduled);
  const Seconds first_token = std::max(scheduled, date(record.first_token));
  const auto add = [&](std::string_view name, Seconds from, Seconds to) {
    if (to > from) writer_.slice(track, name, "phase", from, to);
  };
  add("queued", record.arrival, scheduled);
  add("prefill", scheduled, first_token);
  add("decode", first_token, end);
  if (found != live_.end() && found->second.last) {
    const std::uint64_t id = record.id.value + std::uint64_t{1};
    const Point& last = *found->second.last;
    writer_.flow(FlowPart::start, track, "request", id, record.arrival);
    writer_.flow(FlowPart::end, last.track, "request", id, last.at);
  }
  request_lanes_.release(lane, end);
  if (found != live_.end()) live_.erase(found);
}

}  // namespace foretoken

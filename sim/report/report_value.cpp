// report.json's object, and the report that it was: each part's members are named once, for both
// ways (base/members.hpp). The names are stable: other programs read them; README.md in this folder
// says what each means. Every figure passes through rounded(); the scenario is kept to the last
// bit, because running it again has to give the same bytes.
#include <fmt/format.h>

#include <charconv>

#include "sim/base/members.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/latency_statistics.hpp"
#include "sim/report/report.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {

template <class Archive>
void members(Archive& a, Report::Requests& requests) {
  a("arrived", requests.arrived);
  a("completed", requests.completed);
  a("failed", requests.failed);
  a("unfinished", requests.unfinished);
  a("cancelled", requests.cancelled);
  a("timed_out", requests.timed_out);
  a("rejected", requests.rejected);
  a("retries", requests.retries);
  a("skipped_lines", requests.skipped_lines);
  if (a.has("failed_by", !requests.failed_by.empty()))
    a.by_name("failed_by", requests.failed_by, &NamedCount::name, &NamedCount::count);
  if (a.has("rejected_by", !requests.rejected_by.empty()))
    a.by_name("rejected_by", requests.rejected_by, &NamedCount::name, &NamedCount::count);
}

template <class Archive>
void members(Archive& a, Report::Throughput& rates) {
  a("requests_per_s", rates.requests_per_s);
  a("input_tokens_per_s", rates.input_tokens_per_s);
  a("output_tokens_per_s", rates.output_tokens_per_s);
}

template <class Archive>
void members(Archive& a, Report::Steady& steady) {
  a("basis", steady.basis);
  a("from_s", steady.from_s);
  a("to_s", steady.to_s);
  a("reached", steady.is_reached);
}

template <class Archive>
void members(Archive& a, Report::Drain& drain) {
  a("duration_s", drain.duration_s);
  a("requests", drain.requests);
  a("output_tokens", drain.output_tokens);
}

template <class Archive>
void members(Archive& a, RequestGroup& figures) {
  if (a.has("priority", figures.name.empty())) a("priority", figures.priority);
  a("arrived", figures.arrived);
  a("completed", figures.completed);
  a("rejected", figures.rejected);
  a("ttft_ms", figures.ttft_ms);
  a("tpot_ms", figures.tpot_ms);
  a("e2e_ms", figures.e2e_ms);
  a("attainment", figures.attainment);
  a("output_tokens_per_s", figures.output_tokens_per_s);
}

template <class Archive>
void members(Archive& a, TrajectoryFigures& figures) {
  a("started", figures.started);
  a("completed", figures.completed);
  a("requests_mean", figures.requests_mean);
  a("e2e_ms", figures.e2e_ms);
  a("model_share", figures.model_share);
  a("output_tokens_per_s", figures.output_tokens_per_s);
}

template <class Archive>
void members(Archive& a, Report::Slo& slo) {
  a("targets", slo.targets);
  a("percentile", slo.percentile);
  a("attainment", slo.attainment);
  a("goodput_per_s", slo.goodput_per_s);
  a("met", slo.met);
}

template <class Archive>
void members(Archive& a, Report::HostKv& host) {
  a("blocks", host.blocks);
  a("bytes", host.bytes);
  a("peak", host.peak);
  a("bytes_to_host", host.bytes_to_host);
  a("bytes_from_host", host.bytes_from_host);
  a("swaps", host.swaps);
}

template <class Archive>
void members(Archive& a, Report::KvStore& store) {
  a("shared", store.shared);
  a("bytes", store.bytes);
  a("peak", store.peak);
  a("bytes_written", store.bytes_written);
  a("bytes_read", store.bytes_read);
}

template <class Archive>
void members(Archive& a, Report::Kv& kv) {
  a("blocks", kv.blocks);
  a("block_tokens", kv.block_tokens);
  a("peak", kv.peak);
  a("mean", kv.mean);
  a("preemptions", kv.preemptions);
  if (a.has("state_bytes", kv.state_bytes > 0)) a("state_bytes", kv.state_bytes);
  a("prefix_hit_rate", kv.prefix_hit_rate);
  a("host_hit_rate", kv.host_hit_rate);
  a("host", kv.host);
  if (a.has("store", kv.store.has_value())) {
    a("store_hit_rate", kv.store_hit_rate);
    a("store", kv.store);
  }
}

template <class Archive>
void members(Archive& a, ExpertFigures& experts) {
  a("routing", experts.routing);
  a("experts", experts.experts);
  a("awake", experts.awake);
  a("source", experts.source);
  if (a.has("groups", experts.topk_groups < experts.groups)) {
    a("groups", experts.groups);
    a("topk_groups", experts.topk_groups);
  }
}

template <class Archive>
void members(Archive& a, AdapterFigures& adapters) {
  a("asked", adapters.asked);
  a("slots", adapters.slots);
  a("mean_step", adapters.mean_step);
  a("loads", adapters.loads);
  a("from_disk", adapters.from_disk);
  a("wait_s", adapters.wait_s);
}

template <class Archive>
void members(Archive& a, MediaFigures& media) {
  a("reached", media.reached);
  a("tokens_mean", media.tokens_mean);
  a("cache_hit_rate", media.cache_hit_rate);
  a("cache_tokens", media.cache_tokens);
  a("encoder_s", media.encoder_s);
  a("encoder_share", media.encoder_share);
  a("sent_bytes", media.sent_bytes);
}

template <class Archive>
void members(Archive& a, Report::Speculation& speculation) {
  a("method", speculation.method);
  a("drafts", speculation.drafts);
  a("verifications", speculation.verifications);
  a("acceptance_length", speculation.acceptance_length);
  a("accepted_by_position", speculation.accepted_by_position);
  a("draft_share", speculation.draft_share);
}

template <class Archive>
void members(Archive& a, Report::Host& host) {
  a("work_s", host.work_s);
  a("exposed_s", host.exposed_s);
}

template <class Archive>
void members(Archive& a, Report::Fleet& fleet) {
  a("serving_mean", fleet.serving_mean);
  a("up_mean", fleet.up_mean);
  a("up_max", fleet.up_max);
  a("gpu_hours", fleet.gpu_hours);
  a("cost", fleet.cost);
  a("starts", fleet.starts);
  a("wakes", fleet.wakes);
  a("starts_from_peer", fleet.starts_from_peer);
  a("role_switches", fleet.role_switches);
  a("failures", fleet.failures);
}

template <class Archive>
void members(Archive& a, Report::Cost& cost) {
  a("per_hour", cost.per_hour);
  a("per_million_output_tokens", cost.per_million_output_tokens);
}

template <class Archive>
void members(Archive& a, EnergyFigures& energy) {
  a("per_request_j", energy.per_request_j);
  a("steps_j", energy.steps_j);
  a("idle_j", energy.idle_j);
  a("host_j", energy.host_j);
}

template <class Archive>
void members(Archive& a, SideFigures& sides) {
  a("gpu", sides.gpu);
  a("attention_gpus", sides.attention_gpus);
  a("expert_gpus", sides.expert_gpus);
  a("micro_batches", sides.micro_batches);
  a("attention_busy", sides.attention_busy);
  a("experts_busy", sides.experts_busy);
  a("links_busy", sides.links_busy);
  a.by_name("memory_bytes", sides.memory_bytes, &NamedCount::name, &NamedCount::count);
}

template <class Archive>
void members(Archive& a, Report::Pool& pool) {
  a("role", pool.role);
  a("gpu", pool.gpu);
  a("gpus", pool.gpus);
  a("replicas", pool.replicas);
  a("gpu_busy", pool.gpu_busy);
  a("iterations", pool.iterations);
  a.group("batch", [&](auto& batch) {
    batch("mean", pool.batch_mean);
    batch("max", pool.batch_max);
  });
  a.group("kv", [&](auto& kv) {
    kv("blocks", pool.kv_blocks);
    kv("peak", pool.kv_peak);
    kv("mean", pool.kv_mean);
    kv("prefix_hit_rate", pool.prefix_hit_rate);
  });
  a("cost_per_hour", pool.cost_per_hour);
  a("fleet", pool.fleet);
  a.by_name("memory_bytes", pool.memory_bytes, &NamedCount::name, &NamedCount::count);
  a("sides", pool.sides);
}

template <class Archive>
void members(Archive& a, Report::KvTransfers& transfers) {
  a("count", transfers.count);
  a("local", transfers.local);
  a("kept", transfers.kept);
  a("recomputed", transfers.recomputed);
  a("bytes", transfers.bytes);
  a("wait_ms", transfers.wait_ms);
  a("transfer_ms", transfers.transfer_ms);
  a("exposed_ms", transfers.exposed_ms);
}

template <class Archive>
void members(Archive& a, Report::Network& network) {
  a("flows", network.flows);
  a.group("transfers", [&](auto& transfers) {
    transfers("priced", network.priced);
    transfers("alone", network.alone);
    transfers("met_others", network.met);
    transfers("shared_links", network.shared);
  });
  a("contention_s", network.contention_s);
  a.by_name("contention_by", network.contention_by, &NamedSeconds::name, &NamedSeconds::seconds);
}

template <class Archive>
void members(Archive& a, FamilyError& family) {
  a("share", family.share);
  a("error", family.error);
}

namespace {

/// By columns: a point an object each would be four times as long.
template <class Archive>
void add_timeline(Archive& a, Report& report) {
  a.group("timeline", [&](auto& timeline) {
    timeline("interval_s", report.timeline_interval_s);
    const auto column = [&](const char* key, double TimelinePoint::*figure) {
      std::vector<double> values;
      for (const TimelinePoint& point : report.timeline) values.push_back(point.*figure);
      timeline(key, values);
      if constexpr (!Archive::reads) return;
      report.timeline.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) report.timeline[i].*figure = values[i];
    };
    column("time_s", &TimelinePoint::time_s);
    column("running", &TimelinePoint::running);
    column("waiting", &TimelinePoint::waiting);
    column("kv_used", &TimelinePoint::kv_used);
    column("output_tokens_per_s", &TimelinePoint::output_tokens_per_s);
    if (report.fleet) column("replicas", &TimelinePoint::replicas);
  });
}

template <class Archive>
void add_fingerprint(Archive& a, Report& report) {
  std::string digits = fmt::format("{:016x}", report.event_fingerprint);
  a("event_fingerprint", digits);
  std::from_chars(digits.data(), digits.data() + digits.size(), report.event_fingerprint, 16);
}

template <class Archive>
void add_rates(Archive& a, Report& report) {
  a.group("throughput", [&](auto& rates) {
    members(rates, report.throughput);
    if constexpr (!Archive::reads) {
      Report::Throughput each = report.throughput;
      const double share = 1.0 / report.gpus;
      each.requests_per_s *= share;
      each.input_tokens_per_s *= share;
      each.output_tokens_per_s *= share;
      rates("per_gpu", each);
    }
  });
  a("steady", report.steady);
  a("drain", report.drain);
  a("whole_run", report.whole_run);
  a("ttft_ms", report.ttft_ms);
  a("tpot_ms", report.tpot_ms);
  a("itl_ms", report.itl_ms);
  a("e2e_ms", report.e2e_ms);
  a("slo", report.slo);
}

/// What only some runs have.
template <class Archive>
void add_extras(Archive& a, Report& report) {
  a("experts", report.experts);
  if constexpr (!Archive::reads) {
    if (report.intervals) a("intervals", intervals_value(report));
  }
  a.unless_empty("by_priority", report.by_priority);
  if (a.has("tenants", !report.tenants.empty()))
    a.by_name("tenants", report.tenants, &RequestGroup::name);
  if (a.has("models", !report.models.empty()))
    a.by_name("models", report.models, &RequestGroup::name);
  if (a.has("fairness", report.fairness.has_value())) a("fairness", report.fairness);
  if (a.has("trajectories", report.trajectories.has_value()))
    a("trajectories", report.trajectories);
  if (a.has("pools", !report.pools.empty())) a.by_name("pools", report.pools, &Report::Pool::name);
  a("kv_transfers", report.kv_transfers);
  a("network", report.network);
  a("adapters", report.adapters);
  a("images", report.images);
  a("audio", report.audio);
  a("sides", report.sides);
  a("speculation", report.speculation);
  a("fleet", report.fleet);
  a("host", report.host);
  a("cost", report.cost);
  a("energy_j_per_token", report.energy_j_per_token);
  a("energy", report.energy);
}

}  // namespace

template <class Archive>
void members(Archive& a, Report& report) {
  a("scenario", report.scenario);
  a("seed", report.seed);
  a("version", report.version);
  a("gpus", report.gpus);
  a("requests", report.requests);
  a("duration_s", report.duration_s);
  add_rates(a, report);
  a("kv", report.kv);
  a("gpu_busy", report.gpu_busy);
  a.group("batch", [&](auto& batch) {
    batch("mean", report.batch_mean);
    batch("max", report.batch_max);
  });
  a("iterations", report.iterations);
  a.by_name("time_by", report.time_by, &NamedSeconds::name, &NamedSeconds::seconds);
  a.by_name("step_time_error", report.step_error.families, &FamilyError::family);
  a.by_name("origins", report.origins, &NamedCount::name, &NamedCount::count);
  a.by_name("memory_bytes", report.memory_bytes, &NamedCount::name, &NamedCount::count);
  add_extras(a, report);
  add_timeline(a, report);
  add_fingerprint(a, report);
}

Value report_value(const Report& report) { return to_value(report, rounded); }

Report read_report(const Value& value) {
  Report report = from_value<Report>(value);
  // Some figures of an interval follow from others.
  if (const Value* found = value.find("intervals"))
    report.intervals = read_intervals(*found, report);
  return report;
}

}  // namespace foretoken

// report.json's object. Its names are stable: other programs read them; README.md in this folder
// says what each means. Every figure passes through rounded(); the scenario is kept to the last
// bit, because running it again has to give the same bytes.
#include <fmt/format.h>

#include "sim/report/figure_interval.hpp"
#include "sim/report/report.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

Value latency_value(const LatencyRow& row) {
  return ValueObject{{"mean", rounded(row.mean)}, {"p50", rounded(row.p50)},
                     {"p90", rounded(row.p90)},   {"p95", rounded(row.p95)},
                     {"p99", rounded(row.p99)},   {"max", rounded(row.max)}};
}

Value counts_value(const std::vector<NamedCount>& counts) {
  Value value;
  for (const NamedCount& entry : counts) value.set(entry.name, entry.count);
  return value;
}

Value requests_value(const Report::Requests& requests) {
  ValueObject value = {{"arrived", requests.arrived},
                       {"completed", requests.completed},
                       {"failed", requests.failed},
                       {"unfinished", requests.unfinished},
                       {"cancelled", requests.cancelled},
                       {"timed_out", requests.timed_out},
                       {"rejected", requests.rejected},
                       {"retries", requests.retries},
                       {"skipped_lines", requests.skipped_lines}};
  if (!requests.failed_by.empty()) {
    value.emplace_back("failed_by", counts_value(requests.failed_by));
  }
  return value;
}

ValueObject rates_value(const Report::Throughput& rates, double share = 1.0) {
  return {{"requests_per_s", rounded(rates.requests_per_s * share)},
          {"input_tokens_per_s", rounded(rates.input_tokens_per_s * share)},
          {"output_tokens_per_s", rounded(rates.output_tokens_per_s * share)}};
}

Value throughput_value(const Report& report) {
  ValueObject value = rates_value(report.throughput);
  value.emplace_back("per_gpu", rates_value(report.throughput, 1.0 / report.gpus));
  return value;
}

Value steady_value(const Report::Steady& steady) {
  return ValueObject{{"basis", std::string(enum_name(steady.basis))},
                     {"from_s", rounded(steady.from_s)},
                     {"to_s", rounded(steady.to_s)},
                     {"reached", steady.is_reached}};
}

Value drain_value(const Report::Drain& drain) {
  return ValueObject{{"duration_s", rounded(drain.duration_s)},
                     {"requests", drain.requests},
                     {"output_tokens", rounded(drain.output_tokens)}};
}

Value priorities_value(const std::vector<PriorityClass>& classes) {
  ValueArray values;
  for (const PriorityClass& figures : classes) {
    values.emplace_back(ValueObject{{"priority", figures.priority},
                                    {"arrived", figures.arrived},
                                    {"completed", figures.completed},
                                    {"ttft_ms", latency_value(figures.ttft_ms)},
                                    {"tpot_ms", latency_value(figures.tpot_ms)},
                                    {"e2e_ms", latency_value(figures.e2e_ms)}});
  }
  return values;
}

Value slo_value(const Report::Slo& slo) {
  ValueArray targets;
  for (const std::string& target : slo.targets) targets.emplace_back(target);
  return ValueObject{{"targets", targets},
                     {"percentile", rounded(slo.percentile)},
                     {"attainment", rounded(slo.attainment)},
                     {"goodput_per_s", rounded(slo.goodput_per_s)},
                     {"met", slo.met}};
}

Value host_value(const Report::HostKv& host) {
  return ValueObject{{"blocks", host.blocks},
                     {"bytes", rounded(host.bytes)},
                     {"peak", rounded(host.peak)},
                     {"bytes_to_host", rounded(host.bytes_to_host)},
                     {"bytes_from_host", rounded(host.bytes_from_host)},
                     {"swaps", host.swaps}};
}

Value kv_value(const Report::Kv& kv) {
  ValueObject value = {{"blocks", kv.blocks},
                       {"block_tokens", kv.block_tokens},
                       {"peak", rounded(kv.peak)},
                       {"mean", rounded(kv.mean)},
                       {"preemptions", kv.preemptions}};
  if (kv.state_bytes > 0) value.emplace_back("state_bytes", rounded(kv.state_bytes));
  if (kv.prefix_hit_rate) value.emplace_back("prefix_hit_rate", rounded(*kv.prefix_hit_rate));
  if (kv.host_hit_rate) value.emplace_back("host_hit_rate", rounded(*kv.host_hit_rate));
  if (kv.host) value.emplace_back("host", host_value(*kv.host));
  return value;
}

Value speculation_value(const Report::Speculation& speculation) {
  ValueArray by_position;
  for (const double share : speculation.accepted_by_position) {
    by_position.emplace_back(rounded(share));
  }
  return ValueObject{{"method", speculation.method},
                     {"drafts", speculation.drafts},
                     {"verifications", speculation.verifications},
                     {"acceptance_length", rounded(speculation.acceptance_length)},
                     {"accepted_by_position", by_position},
                     {"draft_share", rounded(speculation.draft_share)}};
}

Value time_by_value(const std::vector<NamedSeconds>& families) {
  Value value;
  for (const NamedSeconds& family : families) value.set(family.name, rounded(family.seconds));
  return value;
}

Value fleet_value(const Report::Fleet& fleet) {
  return ValueObject{{"serving_mean", rounded(fleet.serving_mean)},
                     {"up_mean", rounded(fleet.up_mean)},
                     {"up_max", fleet.up_max},
                     {"gpu_hours", rounded(fleet.gpu_hours)},
                     {"starts", fleet.starts},
                     {"failures", fleet.failures}};
}

Value cost_value(const Report::Cost& cost) {
  ValueObject value = {{"per_hour", rounded(cost.per_hour)}};
  if (cost.per_million_output_tokens) {
    value.emplace_back("per_million_output_tokens", rounded(*cost.per_million_output_tokens));
  }
  return value;
}

Value pools_value(const std::vector<Report::Pool>& pools) {
  Value value;
  for (const Report::Pool& pool : pools) {
    ValueObject entry = {
        {"role", pool.role},
        {"gpu", pool.gpu},
        {"gpus", pool.gpus},
        {"replicas", pool.replicas},
        {"gpu_busy", rounded(pool.gpu_busy)},
        {"iterations", pool.iterations},
        {"batch", ValueObject{{"mean", rounded(pool.batch_mean)}, {"max", pool.batch_max}}}};
    ValueObject kv = {{"blocks", pool.kv_blocks},
                      {"peak", rounded(pool.kv_peak)},
                      {"mean", rounded(pool.kv_mean)}};
    if (pool.prefix_hit_rate) kv.emplace_back("prefix_hit_rate", rounded(*pool.prefix_hit_rate));
    entry.emplace_back("kv", std::move(kv));
    if (pool.cost_per_hour) entry.emplace_back("cost_per_hour", rounded(*pool.cost_per_hour));
    if (pool.fleet) entry.emplace_back("fleet", fleet_value(*pool.fleet));
    entry.emplace_back("memory_bytes", counts_value(pool.memory_bytes));
    value.set(pool.name, std::move(entry));
  }
  return value;
}

Value kv_transfers_value(const Report::KvTransfers& transfers) {
  return ValueObject{{"count", transfers.count},
                     {"bytes", rounded(transfers.bytes)},
                     {"wait_ms", latency_value(transfers.wait_ms)},
                     {"transfer_ms", latency_value(transfers.transfer_ms)},
                     {"exposed_ms", latency_value(transfers.exposed_ms)}};
}

Value timeline_value(const Report& report) {
  const auto column = [&](double TimelinePoint::*figure) {
    ValueArray values;
    values.reserve(report.timeline.size());
    for (const TimelinePoint& point : report.timeline) values.emplace_back(rounded(point.*figure));
    return values;
  };
  ValueObject value = {{"interval_s", rounded(report.timeline_interval_s)},
                       {"time_s", column(&TimelinePoint::time_s)},
                       {"running", column(&TimelinePoint::running)},
                       {"waiting", column(&TimelinePoint::waiting)},
                       {"kv_used", column(&TimelinePoint::kv_used)},
                       {"output_tokens_per_s", column(&TimelinePoint::output_tokens_per_s)}};
  if (report.fleet) value.emplace_back("replicas", column(&TimelinePoint::replicas));
  return value;
}

}  // namespace

Value report_value(const Report& report) {
  ValueObject value = {
      {"scenario", report.scenario},
      // A seed comes out of a scenario, whose integers are signed.
      {"seed", static_cast<std::int64_t>(report.seed)},
      {"version", report.version},
      {"gpus", report.gpus},
      {"requests", requests_value(report.requests)},
      {"duration_s", rounded(report.duration_s)},
      {"throughput", throughput_value(report)},
      {"steady", steady_value(report.steady)},
      {"drain", drain_value(report.drain)},
      {"whole_run", rates_value(report.whole_run)},
      {"ttft_ms", latency_value(report.ttft_ms)},
      {"tpot_ms", latency_value(report.tpot_ms)},
      {"itl_ms", latency_value(report.itl_ms)},
      {"e2e_ms", latency_value(report.e2e_ms)},
      {"slo", slo_value(report.slo)},
      {"kv", kv_value(report.kv)},
      {"gpu_busy", rounded(report.gpu_busy)},
      {"batch", ValueObject{{"mean", rounded(report.batch_mean)}, {"max", report.batch_max}}},
      {"iterations", report.iterations},
      {"time_by", time_by_value(report.time_by)},
      {"step_time_error", step_error_value(report.step_error)},
      {"origins", counts_value(report.origins)},
      {"memory_bytes", counts_value(report.memory_bytes)}};
  if (report.experts) {
    value.emplace_back("experts", ValueObject{{"routing", report.experts->routing},
                                              {"experts", report.experts->experts},
                                              {"awake", report.experts->awake}});
  }
  if (report.intervals) value.emplace_back("intervals", intervals_value(report));
  if (!report.by_priority.empty()) {
    value.emplace_back("by_priority", priorities_value(report.by_priority));
  }
  if (!report.pools.empty()) value.emplace_back("pools", pools_value(report.pools));
  if (report.kv_transfers) {
    value.emplace_back("kv_transfers", kv_transfers_value(*report.kv_transfers));
  }
  if (report.speculation) {
    value.emplace_back("speculation", speculation_value(*report.speculation));
  }
  if (report.fleet) value.emplace_back("fleet", fleet_value(*report.fleet));
  if (report.host) {
    value.emplace_back("host", ValueObject{{"work_s", rounded(report.host->work_s)},
                                           {"exposed_s", rounded(report.host->exposed_s)}});
  }
  if (report.cost) value.emplace_back("cost", cost_value(*report.cost));
  if (report.energy_j_per_token) {
    value.emplace_back("energy_j_per_token", rounded(*report.energy_j_per_token));
  }
  value.emplace_back("timeline", timeline_value(report));
  value.emplace_back("event_fingerprint", fmt::format("{:016x}", report.event_fingerprint));
  return value;
}

}  // namespace foretoken

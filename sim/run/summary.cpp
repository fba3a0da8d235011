#include "sim/run/summary.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/base/unit_text.hpp"
#include "sim/run/priority_classes.hpp"
#include "sim/run/run.hpp"

namespace foretoken {
namespace {

LatencyRow in_milliseconds(const Summary& seconds) {
  return {seconds.mean * 1e3, seconds.p50 * 1e3, seconds.p90 * 1e3,
          seconds.p95 * 1e3,  seconds.p99 * 1e3, seconds.max * 1e3};
}

std::string formats_text(const ExecutionSettings& execution) {
  std::string text(enum_name(execution.dtype));
  if (execution.expert_dtype)
    text += fmt::format(", experts {}", enum_name(*execution.expert_dtype));
  return text;
}

std::string run_title(const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  std::string text =
      fmt::format("{} ({}) on {} x {}", scenario.model.title, formats_text(scenario.execution),
                  layout.ranks() * scenario.deployment.replicas, scenario.cluster.gpu.title);
  if (layout.tensor > 1) text += fmt::format(", TP{}", layout.tensor);
  if (layout.pipeline > 1) text += fmt::format(", PP{}", layout.pipeline);
  if (layout.data_parallel_attention > 1) {
    text += fmt::format(", attention DP{}", layout.data_parallel_attention);
  }
  if (layout.expert > 1) text += fmt::format(", EP{}", layout.expert);
  if (scenario.deployment.replicas > 1) {
    text += fmt::format(", {} replicas", scenario.deployment.replicas);
  }
  return text;
}

/// The resolved scenario with paths as seen from the working folder where they lie below it: a
/// report should read the same wherever the files were checked out.
Value scenario_seen_from_here(const Scenario& scenario) {
  Value root = resolved_scenario(scenario);
  const std::filesystem::path here = std::filesystem::current_path();
  for (const auto& [table_name, key] : {std::pair{"model", "name"},
                                        {"cluster", "name"},
                                        {"engine", "preset"},
                                        {"workload", "trace"}}) {
    Value table = *root.find(table_name);
    const Value* path = table.find(key);
    if (path == nullptr || !path->is_string()) continue;
    const std::filesystem::path given = std::get<std::string>(path->data);
    const std::filesystem::path relative = given.lexically_relative(here);
    if (!given.is_absolute() || relative.empty() || *relative.begin() == "..") continue;
    table.set(key, relative.generic_string());
    root.set(table_name, std::move(table));
  }
  return root;
}

/// Requests that count, the time they took, and everything per request.
void add_requests(const Scenario& scenario, const SimulatedRun& outcome, Report& report) {
  SloLimits limits;
  if (scenario.slo.ttft) limits.ttft = *scenario.slo.ttft;
  if (scenario.slo.tpot) limits.tpot = *scenario.slo.tpot;
  if (scenario.slo.e2e) limits.end_to_end = *scenario.slo.e2e;

  std::vector<double> ttft, tpot, end_to_end;
  std::int64_t input_tokens = 0, output_tokens = 0, good = 0;
  Seconds first_arrival = outcome.ended, last_end;
  for (const RequestRecord& record : outcome.timeline.requests()) {
    report.kv.preemptions += record.preemptions;
    if (!outcome.timeline.is_counted(record)) continue;
    ++report.requests.arrived;
    first_arrival = std::min(first_arrival, record.arrival);
    last_end = std::max(
        last_end, record.status == RequestStatus::completed ? record.finished : record.arrival);
    if (record.status == RequestStatus::failed) ++report.requests.failed;
    if (record.status == RequestStatus::unfinished) {
      ++report.requests.unfinished;
      last_end = outcome.ended;
      output_tokens += record.output_tokens;
    }
    if (record.first_token >= Seconds(0.0)) {
      ttft.push_back(record.ttft().value());
      input_tokens += record.prompt_tokens;
    }
    if (record.status != RequestStatus::completed) continue;
    ++report.requests.completed;
    output_tokens += record.output_tokens;
    if (record.output_tokens > 1) tpot.push_back(record.tpot().value());
    end_to_end.push_back(record.end_to_end().value());
    if (limits.is_met_by(record)) ++good;
  }
  report.ttft_ms = in_milliseconds(summarize(std::move(ttft)));
  report.tpot_ms = in_milliseconds(summarize(std::move(tpot)));
  report.e2e_ms = in_milliseconds(summarize(std::move(end_to_end)));
  report.itl_ms = in_milliseconds(outcome.timeline.gaps().summary());

  report.duration_s = std::max(0.0, (last_end - first_arrival).value());
  const auto per_second = [&](std::int64_t count) {
    return report.duration_s > 0.0 ? static_cast<double>(count) / report.duration_s : 0.0;
  };
  report.throughput = {per_second(report.requests.completed), per_second(input_tokens),
                       per_second(output_tokens)};
  report.slo.goodput_per_s = per_second(good);
  report.slo.attainment =
      report.requests.arrived > 0
          ? static_cast<double>(good) / static_cast<double>(report.requests.arrived)
          : 1.0;
}

void add_slo_targets(const SloTargets& slo, Report& report) {
  const auto add = [&](const char* name, const std::optional<Seconds>& target) {
    if (target) report.slo.targets.push_back(fmt::format("{} <= {}", name, readable(*target)));
  };
  add("ttft", slo.ttft);
  add("tpot", slo.tpot);
  add("e2e", slo.e2e);
  report.slo.percentile = slo.percentile;
  report.slo.met = report.slo.attainment >= slo.percentile / 100.0;
}

void add_host(const SimulatedRun& outcome, Report& report) {
  const HostTotals& host = outcome.host;
  const auto bytes = [&](std::int64_t blocks) {
    return static_cast<double>(blocks) * outcome.memory.kv_block_all_ranks.value();
  };
  report.kv.host =
      Report::HostKv{.blocks = host.blocks,
                     .peak = static_cast<double>(host.used_peak) / static_cast<double>(host.blocks),
                     .bytes = bytes(host.blocks),
                     .bytes_to_host = bytes(host.copies.to_host),
                     .bytes_from_host = bytes(host.copies.from_host),
                     .swaps = host.swapped};
}

void add_load(const Scenario& scenario, const SimulatedRun& outcome, Report& report) {
  const Timeline& timeline = outcome.timeline;
  report.kv.blocks = outcome.kv_blocks * scenario.deployment.layout.data_parallel_attention;
  const auto blocks = static_cast<double>(report.kv.blocks);
  report.kv.block_tokens = scenario.engine.block_tokens;
  if (scenario.workload->prefix_block_tokens() > 0 && scenario.engine.prefix_caching) {
    const PrefixTotals& prefixes = outcome.prefixes;
    const auto share = [&](std::int64_t tokens) {
      return prefixes.tokens_asked > 0
                 ? static_cast<double>(tokens) / static_cast<double>(prefixes.tokens_asked)
                 : 0.0;
    };
    report.kv.prefix_hit_rate = share(prefixes.tokens_found);
    if (outcome.host.blocks > 0) report.kv.host_hit_rate = share(prefixes.tokens_found_host);
  }
  if (outcome.host.blocks > 0) add_host(outcome, report);
  report.kv.peak = timeline.kv_used_peak() / blocks;
  report.kv.mean = timeline.kv_used_mean() / blocks;
  report.iterations = timeline.steps();
  report.batch_max = timeline.step_sequences_max();
  report.batch_mean = timeline.steps() > 0 ? static_cast<double>(timeline.step_sequences()) /
                                                 static_cast<double>(timeline.steps())
                                           : 0.0;
  const double width = timeline.load().width().value();
  report.timeline_interval_s = width;
  for (std::size_t i = 0; i < timeline.load().buckets().size(); ++i) {
    const LoadCurve::Bucket& bucket = timeline.load().buckets()[i];
    report.timeline.push_back({static_cast<double>(i) * width, bucket.running_s / width,
                               bucket.waiting_s / width,
                               bucket.kv_block_s / width / blocks / scenario.deployment.replicas,
                               bucket.output_tokens / width});
  }
}

void add_prices(const Scenario& scenario, const SimulatedRun& outcome, Report& report) {
  Seconds host;  // and waiting for it
  for (const auto& [family, time] : outcome.totals.time_by) {
    report.time_by.push_back({std::string(family), time.value()});
    if (family == "host" || family == "kv_copy") host += time;
  }
  std::ranges::stable_sort(report.time_by, [](const NamedSeconds& a, const NamedSeconds& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
  });
  for (std::size_t i = 0; i < outcome.totals.launches_by_origin.size(); ++i) {
    const std::int64_t launches = outcome.totals.launches_by_origin[i];
    if (launches > 0) {
      report.origins.push_back({std::string(EnumNames<Origin>::names[i]), launches});
    }
  }
  const int stages = scenario.deployment.layout.pipeline * scenario.deployment.replicas;
  const double stage_seconds = outcome.ended.value() * stages;
  report.gpu_busy =
      stage_seconds > 0.0 ? (outcome.timeline.busy() - host).value() / stage_seconds : 0.0;
}

void add_cost(const Scenario& scenario, Report& report) {
  const GpuSpec& gpu = scenario.cluster.gpu;
  const double tokens = report.throughput.output_tokens_per_s * report.duration_s;
  if (gpu.price) {
    Report::Cost cost;
    cost.per_hour = gpu.price->value() * report.gpus;
    if (tokens > 0.0) {
      cost.per_million_output_tokens = cost.per_hour * report.duration_s / 3600.0 / tokens * 1e6;
    }
    report.cost = cost;
  }
  if (gpu.power > Watts(0.0) && tokens > 0.0) {
    // Board power while a step runs; idle power is left out.
    const Joules energy = gpu.power * Seconds(report.duration_s * report.gpu_busy * report.gpus);
    report.energy_j_per_token = energy.value() / tokens;
  }
}

std::vector<RequestRow> request_rows(const Timeline& timeline) {
  std::vector<RequestRow> rows;
  const auto date = [](Seconds value) {
    return value >= Seconds(0.0) ? std::optional(value.value()) : std::nullopt;
  };
  for (const RequestRecord& record : timeline.requests()) {
    RequestRow row;
    row.id = record.id.value;
    row.replica = record.replica.value;
    row.arrival_s = record.arrival.value();
    row.scheduled_s = date(record.scheduled);
    row.first_token_s = date(record.first_token);
    row.finished_s = date(record.finished);
    row.prompt_tokens = record.prompt_tokens;
    row.output_tokens = record.output_tokens;
    if (row.first_token_s) row.ttft_ms = record.ttft().value() * 1e3;
    if (row.finished_s) {
      row.tpot_ms = record.tpot().value() * 1e3;
      row.e2e_ms = record.end_to_end().value() * 1e3;
    }
    row.preemptions = record.preemptions;
    row.status = enum_name(record.status);
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &RequestRow::id);
  return rows;
}

/// What a GPU's capacity went to, largest purposes first; together they are the capacity.
std::vector<NamedCount> memory_pieces(const SimulatedRun& outcome) {
  const MemoryPlan& plan = outcome.memory;
  const Bytes kv = static_cast<double>(outcome.kv_blocks) * plan.kv_block;
  const Bytes unused =
      plan.unused + static_cast<double>(plan.kv_blocks - outcome.kv_blocks) * plan.kv_block;
  std::vector<NamedCount> pieces;
  const auto add = [&](const char* name, Bytes size) {
    if (size != Bytes(0.0)) pieces.push_back({name, static_cast<std::int64_t>(size.value())});
  };
  add("capacity", plan.capacity);
  add("weights", plan.weights);
  add("kv_cache", kv);
  add("activations", plan.activations);
  add("cuda_graphs", plan.graphs);
  add("communication", plan.communication);
  add("runtime", plan.runtime);
  add("context", plan.context);
  add("driver", plan.driver);
  add(unused < Bytes(0.0) ? "overcommitted" : "unused", std::max(unused, -1.0 * unused));
  return pieces;
}

}  // namespace

Report summarize_run(const Scenario& scenario, const SimulatedRun& outcome) {
  Report report;
  report.title = run_title(scenario);
  report.scenario = scenario_seen_from_here(scenario);
  report.seed = scenario.run.seed;
  report.version = version();
  report.gpus = scenario.deployment.layout.ranks() * scenario.deployment.replicas;
  report.requests.skipped_lines = outcome.skipped_lines;
  add_requests(scenario, outcome, report);
  report.by_priority = priority_classes(outcome.timeline);
  add_slo_targets(scenario.slo, report);
  add_load(scenario, outcome, report);
  add_prices(scenario, outcome, report);
  add_cost(scenario, report);
  report.memory_bytes = memory_pieces(outcome);
  report.event_fingerprint = outcome.counters.fingerprint;
  report.rows = request_rows(outcome.timeline);
  return report;
}

}  // namespace foretoken

// Everything a run found out, as plain numbers. sim/run fills it; the writers beside this header
// turn it into a terminal table, report.json, requests.csv. This room knows no other but sim/base.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/value.hpp"
#include "sim/report/adapter_figures.hpp"
#include "sim/report/expert_figures.hpp"
#include "sim/report/media_figures.hpp"
#include "sim/report/request_group.hpp"
#include "sim/report/request_row.hpp"
#include "sim/report/running_costs.hpp"
#include "sim/report/side_figures.hpp"
#include "sim/report/step_error.hpp"

namespace foretoken {

/// One point of the timeline: averages over [time_s, time_s + interval).
struct TimelinePoint {
  double time_s = 0;
  double running = 0;  // sequences in the batch, all replicas together
  double waiting = 0;  // requests queued
  double kv_used = 0;  // share of KV blocks in use, 0 to 1
  double output_tokens_per_s = 0;
  double replicas = 0;  // that serve; filled where their number may change
};

/// What the rates of a run are taken from (README.md, "Throughput"). arrivals: what requests came
/// to that arrived in the window. service: what happened in it. run: all of it, for want of a
/// window.
enum class SteadyBasis { arrivals, service, run };
template <>
struct EnumNames<SteadyBasis> {
  static constexpr auto names = std::to_array<std::string_view>({"arrivals", "service", "run"});
};

/// GPU time of a kernel family by what bounds it, and how far its prices may be off.
struct FamilyFigures {
  std::string name;
  std::vector<NamedSeconds> by_bound;  // largest first
  /// Expected relative error of a price, from held-out data of the family, over its time; 0 = the
  /// predictor does not know.
  double expected_error = 0;
};

/// Kernels of sampled steps against the GPUs' limits.
struct Roofline {
  struct Gpu {
    std::string title;
    double bytes_per_s = 0;                             // of its memory
    std::vector<std::pair<std::string, double>> peaks;  // flop/s by number format, those in use
  };
  struct Point {
    std::string role, family, bound, shape;  // "qkv_proj", "gemm", "dram", "m 64 n 6144 k 4096"
    double flops_per_byte = 0, flops_per_s = 0;
    double us_a_call = 0;
    double share = 0;  // of the time of all points, 0 to 1
  };
  std::vector<Gpu> gpus;
  std::vector<Point> points;  // largest share first
  std::int64_t steps = 0;     // that were looked at
};

/// Conversations and agents' trajectories, where requests lead to each other.
struct TrajectoryFigures {
  std::int64_t started = 0, completed = 0;  // completed: each of its requests
  double requests_mean = 0;                 // of one
  LatencyRow e2e_ms;  // from its first arrival to its last answer, of the completed
  /// Of that time, the share in which its critical path waited for the model; tools and people took
  /// the rest.
  double model_share = 0;
  LatencyRow output_tokens_per_s;  // all that it generated, over that time
};

/// Where a figure lies with a probability of interval_confidence, as far as prices are concerned.
struct FigureInterval {
  double low = 0, high = 0;
};
/// Of all intervals in reports.
inline constexpr double interval_confidence = 0.9;

struct Report {
  std::string title;  // "Llama 3.1 8B (bf16) on 1x NVIDIA H200 SXM"
  Value scenario;     // the resolved scenario
  std::uint64_t seed = 0;
  std::string version;

  struct Requests {
    std::int64_t arrived = 0, completed = 0, failed = 0, unfinished = 0;
    std::int64_t cancelled = 0, timed_out = 0, rejected = 0;
    std::int64_t retries = 0;                // attempts after replicas failed
    std::int64_t skipped_lines = 0;          // malformed trace lines passed over on request
    std::vector<NamedCount> failed_by = {};  // why, most frequent first (failure_text())
    /// Likewise by the gateway; those that full engines rejected are not in it.
    std::vector<NamedCount> rejected_by = {};
  } requests;

  double warmup_s = 0;    // requests that arrive before count nowhere but in the rows
  double duration_s = 0;  // simulated: first arrival to last event counted
  struct Throughput {
    double requests_per_s = 0, input_tokens_per_s = 0, output_tokens_per_s = 0;
  } throughput;          // of the steady state
  Throughput whole_run;  // over duration_s
  struct Steady {
    SteadyBasis basis = SteadyBasis::run;
    double from_s = 0, to_s = 0;
    /// Half of the requests had ended when the window did: it is longer than they take.
    bool is_reached = false;
  } steady;
  /// What came after the steady state's end: requests that had not ended, and tokens they got.
  struct Drain {
    double duration_s = 0;
    std::int64_t requests = 0;
    double output_tokens = 0;
  } drain;
  int gpus = 1;

  LatencyRow ttft_ms, tpot_ms, itl_ms, e2e_ms;
  std::vector<RequestGroup> by_priority;          // most urgent first; empty = all are of one class
  std::vector<RequestGroup> tenants;              // empty = fewer than two sent anything
  std::vector<RequestGroup> models;               // empty = fewer than two were asked for
  std::optional<double> fairness;                 // of tenants: Jain's index, up to 1
  std::optional<TrajectoryFigures> trajectories;  // nullopt = requests stand alone

  struct Slo {
    std::vector<std::string> targets;  // "ttft <= 500 ms"; empty = none was set
    double percentile = 99;            // share of requests that should meet them, in per cent
    double attainment = 1;             // share of arrived requests that met all targets, 0 to 1
    double goodput_per_s = 0;
    bool met = true;                                 // attainment >= percentile / 100
    std::optional<double> ttft_ms, tpot_ms, e2e_ms;  // the targets; nullopt = not set
  } slo;

  /// KV blocks in the host's memory, all replicas together.
  struct HostKv {
    std::int64_t blocks = 0;
    double peak = 0;   // highest share in use, 0 to 1; of several pools the sum of their peaks
    double bytes = 0;  // that the blocks are
    double bytes_to_host = 0, bytes_from_host = 0;  // copied
    std::int64_t swaps = 0;                         // preemptions that kept their blocks
  };
  /// Prefixes on disks or in remote stores, all together.
  struct KvStore {
    bool shared = false;
    double bytes = 0, bytes_written = 0, bytes_read = 0;  // capacity first
    double peak = 0;                                      // highest share in use of any, 0 to 1
  };
  struct Kv {
    std::int64_t blocks = 0;  // of one replica
    std::int64_t block_tokens = 0;
    double peak = 0;  // highest share in use on any replica, 0 to 1
    double mean = 0;
    std::int64_t preemptions = 0;
    double state_bytes = 0;  // of recurrent layers, a sequence on each GPU; 0 = there are none
    /// Share of prompt tokens found where the prompt was computed, 0 to 1; nullopt = no prompts
    /// share anything, or the engine does not look.
    std::optional<double> prefix_hit_rate = std::nullopt;
    /// Likewise in the host's memory, part of the above; nullopt = no such tier.
    std::optional<double> host_hit_rate = std::nullopt;
    std::optional<HostKv> host = std::nullopt;
    /// Likewise of disks and remote stores.
    std::optional<double> store_hit_rate = std::nullopt;
    std::optional<KvStore> store = std::nullopt;
  } kv;

  std::optional<ExpertFigures> experts;

  std::optional<AdapterFigures> adapters;

  std::optional<MediaFigures> images, audio;
  /// Of the first pool whose experts have GPUs of their own; nullopt = none has.
  std::optional<SideFigures> sides;

  struct Speculation {
    std::string method;  // "eagle"
    int drafts = 0;      // for each sequence and step
    std::int64_t verifications = 0;
    /// Mean number of tokens a verification gave, the target's own included.
    double acceptance_length = 0;
    /// Share of the drafts at each position that were accepted, all before them included.
    std::vector<double> accepted_by_position;
    double draft_share = 0;  // of the GPU time, 0 to 1
  };
  std::optional<Speculation> speculation;

  /// CPU time of all steps, and the part of it that GPUs waited for; nullopt = none is modelled.
  struct Host {
    double work_s = 0, exposed_s = 0;
  };
  std::optional<Host> host;

  /// What the error of prices makes of the figures; nullopt = nobody asked.
  struct Intervals {
    bool is_simulated = false;            // by two more runs; else estimated from this one
    std::vector<FigureInterval> figures;  // in the order of figures()
  };
  std::optional<Intervals> intervals;

  double gpu_busy = 0;    // share of GPU time with a step running, 0 to 1
  double batch_mean = 0;  // sequences a step
  std::int64_t batch_max = 0;
  std::int64_t iterations = 0;
  std::vector<NamedSeconds> time_by;     // GPU time by kernel family, largest first
  StepError step_error;                  // of the steps that this time went to
  std::vector<FamilyFigures> families;   // of these, the ones that are priced kernel by kernel
  std::optional<Roofline> roofline;      // where it was asked for
  std::vector<NamedCount> origins;       // kernel prices by origin
  std::vector<NamedCount> memory_bytes;  // of one GPU: weights, activations, KV …

  /// Where replicas start, stop or fail during the run. Up: starting, serving or draining.
  struct Fleet {
    double serving_mean = 0, up_mean = 0;  // replicas, over the run
    int up_max = 0;
    double gpu_hours = 0;        // of replicas that were up
    std::optional<double> cost;  // USD, of these; nullopt = a GPU has no price
    std::int64_t starts = 0, wakes = 0, starts_from_peer = 0;  // in all, and of these
    std::optional<std::int64_t> role_switches;  // of the starts; nullopt = no pools share GPUs
    std::int64_t failures = 0;
  };

  /// Equal replicas among others; none where all are equal.
  struct Pool {
    std::string name, role, gpu;  // the GPU's title
    int gpus = 0, replicas = 0;
    double gpu_busy = 0;  // as Report::gpu_busy
    std::int64_t iterations = 0, batch_max = 0;
    double batch_mean = 0;
    std::int64_t kv_blocks = 0;  // of one replica
    double kv_peak = 0, kv_mean = 0;
    /// As Report::Kv's, with prompts whose KV caches came from another replica.
    std::optional<double> prefix_hit_rate;
    std::optional<double> cost_per_hour;  // USD
    std::optional<Fleet> fleet;
    std::vector<NamedCount> memory_bytes;
    std::optional<SideFigures> sides;
  };
  std::vector<Pool> pools;

  /// KV caches that went from replicas that prefill to those that decode.
  struct KvTransfers {
    std::int64_t count = 0;
    std::int64_t local = 0;            // requests whose prompt was computed where they were decoded
    std::optional<std::int64_t> kept;  // as decode replicas failed; nullopt = none is
    std::optional<std::int64_t> recomputed;  // as prefill replicas failed; likewise
    double bytes = 0;                        // of all, those of requests that are not counted too
    LatencyRow wait_ms;      // from a request's first token until it had blocks to go to
    LatencyRow transfer_ms;  // first byte sent to last byte arrived
    LatencyRow exposed_ms;   // of that, what came after prefill and the wait
  };
  std::optional<KvTransfers> kv_transfers;

  /// What crossed links between GPUs, where any of it was simulated.
  struct Network {
    std::int64_t flows = 0;
    /// Collectives and sends that took their price; those of steps that were alone on their links,
    /// and that met others there; those over links that GPUs of others use too.
    std::int64_t priced = 0, alone = 0, met = 0, shared = 0;
    double contention_s = 0;  // by which all of them together took longer than alone
    std::vector<NamedSeconds> contention_by;  // link, longest first
  };
  std::optional<Network> network;
  std::optional<Fleet> fleet;  // of all pools; up_max is the sum of each one's most

  using Cost = CostFigures;
  std::optional<Cost> cost;
  std::optional<double> energy_j_per_token;  // by output tokens
  std::optional<EnergyFigures> energy;

  std::vector<TimelinePoint> timeline;
  double timeline_interval_s = 0;
  std::uint64_t event_fingerprint = 0;
  std::vector<RequestRow> rows;  // one a request, by id
};

/// Why requests failed, in words, by its name in report.json: "too long for the KV cache".
std::string_view failure_text(std::string_view reason);

/// report.json's object (docs in the README, "report.json"). Title, rows and wall time are not in
/// it.
Value report_value(const Report& report);
/// The report that it was, but for these. Anything missing is an InternalError: both ends are ours.
Report read_report(const Value& value);

/// The table a person reads, at most `width` columns. `colour` switches ANSI colours on.
std::string report_table(const Report& report, bool colour, int width = 100);

/// The page that `--report` writes (page.hpp). Throws ConfigError in a build that draws no charts.
std::string report_page(const Report& report);

/// requests.csv with its header line. Numbers have fixed decimals so that files compare bytewise.
std::string requests_csv(const Report& report);

}  // namespace foretoken

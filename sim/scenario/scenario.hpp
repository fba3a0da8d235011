// A what-if question as a file: model, cluster, deployment, engine, predictor, traffic, SLO and
// run. Loading validates everything that can be known without running, fills in defaults, and
// reports all mistakes of the file together with their places. A Scenario is plain data; sim/run
// builds the rooms from it. What needs the engine's own variants (scheduler, router, predictor
// options) is kept as a VariantChoice and checked when sim/run builds them, still before time 0.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hardware/cluster.hpp"
#include "hardware/cluster_scale.hpp"
#include "hardware/wiring.hpp"
#include "kernels/communication/communication_price.hpp"
#include "models/parallel_layout.hpp"
#include "models/transformer.hpp"
#include "sim/base/change.hpp"
#include "sim/base/value.hpp"
#include "sim/metrics/slo.hpp"
#include "sim/scenario/failure.hpp"
#include "sim/scenario/speculative.hpp"
#include "sim/serving/settings/autoscaler_settings.hpp"
#include "sim/serving/settings/encoder_settings.hpp"
#include "sim/serving/settings/engine_limits.hpp"
#include "sim/serving/settings/engine_memory.hpp"
#include "sim/serving/settings/front_end_settings.hpp"
#include "sim/serving/settings/handoff_settings.hpp"
#include "sim/serving/settings/host_settings.hpp"
#include "workloads/generator.hpp"
#include "workloads/requests/workload.hpp"

namespace foretoken {

/// Keys that stand in the file under another name, an engine's own: key, name.
using WrittenAs = std::vector<std::pair<std::string, std::string>>;

/// A variant by name with its own options, as they stand in the file.
struct VariantChoice {
  std::string name;
  Value options = {};            // an object: the keys of the table that belong to the variant
  SourcePosition position = {};  // of the name
  std::vector<std::string> table_keys = {};  // the keys of the table that do not
  WrittenAs written_as = {};
};

struct Deployment {
  ParallelLayout layout;
  int replicas = 1;
  int micro_batches = 0;            // in flight in a pipeline at once; 0 = as many as it has stages
  std::string all_reduce = "auto";  // algorithm: kernels/communication/collective_cost.hpp
  std::string expert_exchange = "auto";  // kernels/communication/engine_exchange.hpp
  NcclProtocol nccl_protocol = NcclProtocol::automatic;
  VariantChoice router{"round_robin"};
  std::size_t node_group = 0;    // of the cluster whose nodes these replicas stand on
  std::size_t expert_group = 0;  // likewise of layout.expert_gpus
  bool own_nodes = false;        // which hold no other pool's replicas
  /// Of the pool whose GPUs these replicas may have when it leaves them; "" = they have their own.
  std::string shares_gpus_with;

  // Where some pools only compute prompts.
  VariantChoice prefill_router{"round_robin"}, decode_router{"round_robin"};
  HandoffSettings handoff;
};

/// plan: a batch's attention is priced from the tasks that its kernel makes of every sequence.
/// sums: as if all sequences were equal, which takes less time and misses what unequal ones cost.
enum class AttentionDetail { sums, plan };
template <>
struct EnumNames<AttentionDetail> {
  static constexpr auto names = std::to_array<std::string_view>({"sums", "plan"});
};

/// Cold: every kernel finds its weights and KV in DRAM, as in serving. Warm: in L2 where they fit,
/// as benchmark tables that repeat one buffer measure it.
enum class CacheState { cold, warm };
template <>
struct EnumNames<CacheState> {
  static constexpr auto names = std::to_array<std::string_view>({"cold", "warm"});
};

/// What carries collectives and sends that no other GPU's links take part in: their price, or flows
/// of the simulated network, on which they meet KV caches and sends.
///   automatic   flows where the deployment lets others on these links, else prices
///   memoised    prices throughout
///   flows       flows throughout; a step whose links nobody else is on is one lease of them
///   every_flow  the same without leases, for checking them: slow
enum class NetworkMode { automatic, memoised, flows, every_flow };
template <>
struct EnumNames<NetworkMode> {
  static constexpr auto names =
      std::to_array<std::string_view>({"auto", "memoised", "flows", "every_flow"});
};

struct EngineSettings : SchedulerLimits, EngineMemory {
  std::string preset;   // name or path of an engine_preset.hpp; "" = none
  std::string version;  // of that engine; "" = the preset's own
  VariantChoice scheduler{"vllm_v1"};
  std::int64_t context_max = 0;  // prompt and output tokens of a request; 0 = the model's
  std::int64_t queue_max = 0;    // requests that wait in an engine; 0 = any number
  HostSettings host;             // work on the CPU
  std::optional<SpeculativeSettings> speculative;  // nullopt = a token a step
  std::optional<EncoderSettings> encoder;          // of images; nullopt = as usual
};

/// Where the intervals of a report's figures come from: from the run itself, which costs next to
/// nothing; from two more runs, with prices as low and as high as they may be; or nowhere.
/// automatic: from two more runs where the GPUs are so busy that queues may tip over, else from the
/// run itself.
enum class IntervalSource { automatic, estimate, simulate, none };
template <>
struct EnumNames<IntervalSource> {
  static constexpr auto names =
      std::to_array<std::string_view>({"auto", "estimate", "simulate", "none"});
};

struct RunSettings {
  std::uint64_t seed = 1;
  std::string only_model;  // requests for it and the pools that serve it; "" = all
  IntervalSource intervals = IntervalSource::automatic;
  Seconds warmup;                  // requests that arrive before are served but not counted
  std::optional<Seconds> horizon;  // the run is cut here; nullopt = until the last request ends
};

/// What machines draw, as keys of [cluster]. 0 = not said.
struct PowerSettings {
  Watts cap;       // of a GPU, below its board's limit
  Watts idle;      // of a GPU while no step runs
  Watts host;      // of a node beside its GPUs
  Watts uncapped;  // the board's own limit, where a cap lowers it
};

struct PoolSpec;

struct Scenario {
  std::string model_name;  // as asked for: name or path
  std::string cluster_name;
  Transformer model;
  ClusterSpec cluster;                        // as scaled
  std::vector<ScaledQuantity> cluster_scale;  // [cluster.scale]: hardware that nobody sells
  PowerSettings power;
  NetworkMode network = NetworkMode::automatic;
  ExecutionSettings execution;
  Deployment deployment;
  EngineSettings engine;
  FrontEndSettings front_end;
  StartupSettings startup;
  std::optional<AutoscalerSettings> autoscaler;  // with pools each has its own
  std::vector<Failure> failures;
  std::vector<LinkFailure> link_failures;  // [[failures]] too
  VariantChoice predictor{"synperf"};
  /// [predictor.stretch]: what prices are multiplied by, by family of kernels, "communication" and
  /// "host".
  std::vector<std::pair<std::string, double>> price_stretch;
  AttentionDetail attention = AttentionDetail::plan;
  CommSource communication = CommSource::model;  // who prices collectives over private links
  CommFallback communication_fallback = CommFallback::none;  // measured: for what was not
  std::shared_ptr<const Workload> workload;
  SloTargets slo;
  RunSettings run;
  /// Replicas of several kinds; empty: `deployment` and `engine` describe them all.
  std::vector<PoolSpec> pools;

  SourcePosition model_position, kv_dtype_position, host_kv_position, cluster_position,
      deployment_position, engine_position, outstanding_position;
};

/// Equal replicas among others: what they would be if they were the whole deployment. The cluster
/// is seen from the group of their nodes.
struct PoolSpec {
  std::string name;
  PoolRole role = PoolRole::both;
  Scenario scenario;  // without pools
  int model = 0;      // that it serves: Request::model

  [[nodiscard]] bool encodes() const { return role == PoolRole::encode; }
  [[nodiscard]] bool prefills() const { return role != PoolRole::decode && !encodes(); }
  [[nodiscard]] bool decodes() const { return role != PoolRole::prefill && !encodes(); }
};

/// The links that fail, as `wiring` of the scenario's cluster numbers them; none: there is no such
/// link.
std::vector<LinkIndex> links_of(const LinkFailure& failure, const Wiring& wiring);

/// Node, and number in it, of a network card counted over the cluster; the node is beyond the last
/// if there is no such card.
std::pair<int, int> place_of_nic(const ClusterSpec& cluster, int nic);

/// The GPU that routed experts have of their own: another kind than attention's where these stand
/// on other nodes.
const GpuSpec& expert_gpu(const Scenario& scenario);

/// Whether some pool's replicas stand on another one's GPUs.
bool shares_gpus(const std::vector<PoolSpec>& pools);
/// GPUs of all pools' replicas, those that two share once.
int gpus_of_all(const std::vector<PoolSpec>& pools);

/// The models that pools serve, each once, by the names that the scenario gives them.
std::vector<std::string> served_models(const Scenario& scenario);

/// Whether some pool only computes prompts.
bool hands_over(const Scenario& scenario);
/// The pools, or a nameless one that is the whole deployment.
std::vector<PoolSpec> pools_of(const Scenario& scenario);

struct ScenarioOptions {
  std::filesystem::path base_folder;  // relative paths in the scenario start here
  bool skip_bad_lines = false;
};

/// Reads a parsed scenario. Throws ConfigError with every mistake found.
Scenario read_scenario(const Value& root, const ScenarioOptions& options);

/// Loads a file, applies changes, reads it.
Scenario load_scenario(const std::filesystem::path& path, const Changes& changes,
                       bool skip_bad_lines = false);

/// What [predictor.stretch] may name.
std::vector<std::string_view> stretchable_prices();
/// What prices of that name are multiplied by; 1 unless the scenario says otherwise.
double stretch_of(const Scenario& scenario, std::string_view name);

/// Replicas there may be at one time: those the run begins with, or the autoscaler's most.
int replicas_max(const Scenario& scenario);
/// What a replica costs by policy wva: as told, or its GPUs' price an hour; nullopt: nobody says.
std::optional<double> variant_cost(const Scenario& pool);
/// Whether the number of replicas that serve may change during the run.
bool has_fleet_changes(const Scenario& scenario);

/// The scenario with every default written out: to_toml() of it, loaded again, is the same
/// scenario.
Value resolved_scenario(const Scenario& scenario);

}  // namespace foretoken

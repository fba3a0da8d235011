#include "sim/library/kernel_pricer.hpp"

#include <fmt/format.h>

#include "kernels/communication/engine_all_reduce.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/explain.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/library/explanation_value.hpp"
#include "sim/report/rounding.hpp"
#include "sim/run/run.hpp"

namespace foretoken {
namespace {

/// `ranks` GPUs spread evenly over the first `nodes` nodes.
std::vector<GpuId> spread_group(const ClusterSpec& cluster, int ranks, int nodes) {
  if (nodes > cluster.nodes || ranks % nodes != 0 || ranks / nodes > cluster.node.gpus) {
    throw ConfigError({},
                      fmt::format("{} ranks on {} node(s) do not fit cluster '{}' ({} nodes of "
                                  "{} GPUs)",
                                  ranks, nodes, cluster.name, cluster.nodes, cluster.node.gpus));
  }
  std::vector<GpuId> group;
  for (int node = 0; node < nodes; ++node) {
    for (int i = 0; i < ranks / nodes; ++i) {
      group.push_back({static_cast<std::uint32_t>(node * cluster.node.gpus + i)});
    }
  }
  return group;
}

/// Whose code was priced, for kernels that frameworks run by different ones.
void set_implementation(const Kernel& kernel, const GpuSpec& gpu, Value& answer) {
  const bool has_one = std::visit(
      []<class Kind>(const Kind&) {
        return requires(Kind kind) { kind.implementation; };
      },
      kernel);
  if (!has_one) return;
  const Implementation resolved = resolve_implementation(kernel, gpu);
  answer.set("framework", std::string(enum_name(resolved.framework)));
  answer.set("kernel_source", std::string(enum_name(resolved.source)));
}

}  // namespace

KernelPricer::KernelPricer(const PricingChoice& choice,
                           const Registry<PredictorFactory>& predictors)
    : explains_(choice.explain) {
  if (choice.cluster.empty() == choice.gpu.empty()) {
    throw ConfigError({"predict"}, "needs exactly one of --gpu and --cluster");
  }
  if (!choice.cluster.empty()) cluster_ = load_cluster(choice.cluster, {"--cluster"});
  gpu_ = cluster_ ? cluster_->gpu : load_gpu(choice.gpu, {"--gpu"});
  predictor_ = make_predictor(predictors, choice.predictor, {"--predictor"});
  const auto source = parse_enum<CommSource>(choice.communication);
  if (!source) {
    const auto& names = EnumNames<CommSource>::names;
    throw ConfigError({"--communication"},
                      unknown_name_message("source of prices", choice.communication,
                                           {names.begin(), names.end()}));
  }
  if (!cluster_) return;
  comm_.parameters = cluster_->comm;
  if (*source == CommSource::measured)
    comm_.measured = measured_prices(*cluster_, Framework::vllm, CommFallback::none);
}

CommSettings KernelPricer::settings_of(const KernelCase& asked) const {
  CommSettings settings = comm_;
  const Framework framework = asked.implementation.framework;
  if (!is_all_reduce_name(asked.algorithm)) {
    throw ConfigError(
        {}, "algorithm: " + unknown_name_message("algorithm", asked.algorithm, all_reduce_names()));
  }
  settings.all_reduce = engine_all_reduce(asked.algorithm, framework, asked.framework_version);
  if (!is_all_reduce_name(settings.all_reduce)) {
    throw ConfigError({}, fmt::format("framework_version: '{}' is not a version such as \"0.14.1\"",
                                      asked.framework_version));
  }
  const auto protocol = parse_enum<NcclProtocol>(asked.nccl_protocol);
  if (!protocol) {
    const auto& names = EnumNames<NcclProtocol>::names;
    throw ConfigError({}, "nccl_protocol: " + unknown_name_message("protocol", asked.nccl_protocol,
                                                                   {names.begin(), names.end()}));
  }
  settings.protocol = *protocol;
  if (settings.measured) settings.measured->framework = framework;
  return settings;
}

Prediction KernelPricer::price_collective(const Collective& collective, const KernelCase& asked,
                                          Value& answer) const {
  if (!cluster_) throw ConfigError({}, "a collective needs --cluster instead of --gpu");
  const GroupLinks links =
      group_links(*cluster_, spread_group(*cluster_, collective.ranks, asked.nodes));
  const CommSettings settings = settings_of(asked);
  if (!may_all_reduce(settings.all_reduce, links, settings.parameters)) {
    throw ConfigError({}, fmt::format("algorithm: '{}' does not support {} ranks on {} node(s) of "
                                      "cluster '{}'",
                                      asked.algorithm, links.ranks, links.nodes, cluster_->name));
  }
  const Prediction price = price_communication(collective, links, settings);
  if (collective.op == CollectiveOp::all_reduce) answer.set("all_reduce", settings.all_reduce);
  if (price.origin != Origin::analytic || links.ranks == 1) return price;
  const CollectiveCost cost =
      collective_cost(call_of(collective, settings), links, settings.parameters);
  answer.set("priced_as", std::string(cost.algorithm));
  answer.set("protocol", std::string(enum_name(cost.protocol)));
  return price;
}

Prediction KernelPricer::price(const KernelCase& asked, Value& answer) const {
  if (const auto* collective = std::get_if<Collective>(&asked.kernel))
    return price_collective(*collective, asked, answer);
  return predictor_->predict(asked.kernel, gpu_);
}

Value KernelPricer::answer(Value object) const {
  if (!object.is_object())
    throw ConfigError({}, "expected a JSON object, as in {\"kernel\":\"gemm\",...}");
  KernelCase asked = read_kernel_case(object);
  // As simulate prices: in serving each layer has weights and KV blocks of its own.
  if (object.find("cold") == nullptr) set_cold(asked.kernel, true);
  const Prediction prediction = price(asked, object);
  if (!std::holds_alternative<Collective>(asked.kernel))
    object.set("cold", cold_state(asked.kernel).value_or(true));
  set_implementation(asked.kernel, gpu_, object);
  object.set("time_us", rounded(prediction.time.value() * 1e6));
  object.set("bound_by", std::string(enum_name(prediction.bound_by)));
  object.set("origin", std::string(enum_name(prediction.origin)));
  if (prediction.expected_error > 0.0) {
    object.set("expected_error", rounded(prediction.expected_error));
  }
  if (!asked.note.empty()) object.set("note", asked.note);
  if (explains_ && !std::holds_alternative<Collective>(asked.kernel))
    object.set("explain", explanation_value(explain(asked.kernel, gpu_)));
  return object;
}

}  // namespace foretoken

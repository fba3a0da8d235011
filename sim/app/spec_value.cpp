#include "sim/app/spec_value.hpp"

#include "kernels/communication/engine_exchange.hpp"
#include "models/operator.hpp"
#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

/// Sets what is known: zero means that it is not there.
template <class Unit>
void set_if_any(Value& value, std::string_view key, Quantity<Unit> quantity) {
  if (quantity.value() > 0) value.set(key, rounded(quantity.value()));
}

std::string dtype_text(DType dtype) { return std::string(enum_name(dtype)); }

Value node_value(const NodeSpec& node) {
  Value value;
  value.set("gpus", node.gpus);
  if (node.trays > 1) value.set("trays", node.trays);
  value.set("link", std::string(enum_name(node.link)));
  set_if_any(value, "link_bytes_per_s", node.link_bandwidth);
  set_if_any(value, "link_latency_s", node.link_latency);
  if (node.link != NodeLink::single) value.set("link_efficiency", node.link_efficiency);
  ValueArray pairs;
  for (const GpuPair& pair : node.pairs) {
    pairs.emplace_back(
        ValueObject{{"first", pair.first}, {"second", pair.second}, {"links", pair.links}});
  }
  if (!pairs.empty()) value.set("pairs", std::move(pairs));
  set_if_any(value, "pcie_bytes_per_s", node.pcie_bandwidth);
  set_if_any(value, "pcie_latency_s", node.pcie_latency);
  if (node.gpus_per_switch > 0) value.set("gpus_per_switch", node.gpus_per_switch);
  set_if_any(value, "switch_bytes_per_s", node.switch_bandwidth);
  value.set("sockets", node.sockets);
  set_if_any(value, "host_bytes_per_s", node.host_bandwidth);
  set_if_any(value, "socket_bytes_per_s", node.socket_bandwidth);
  set_if_any(value, "host_memory_bytes", node.host_memory);
  set_if_any(value, "host_link_bytes_per_s", node.host_link_bandwidth);
  if (node.nics == 0) return value;
  value.set("nics", node.nics);
  set_if_any(value, "nic_bytes_per_s", node.nic_bandwidth);
  value.set("nic_efficiency", node.nic_efficiency);
  value.set("nics_at", std::string(enum_name(node.nic_place())));
  return value;
}

Value fabric_value(const FabricSpec& fabric) {
  Value value;
  value.set("kind", std::string(enum_name(fabric.kind)));
  value.set("latency_s", rounded(fabric.latency.value()));
  set_if_any(value, "switch_latency_s", fabric.switch_latency);
  value.set("oversubscription", fabric.oversubscription);
  const auto count = [&](std::string_view key, int number) {
    if (number > 0) value.set(key, number);
  };
  count("nodes_per_leaf", fabric.nodes_per_leaf);
  count("leaves_per_pod", fabric.leaves_per_pod);
  if (fabric.leaves_per_pod > 0) value.set("pod_oversubscription", fabric.pod_oversubscription);
  count("nodes_per_router", fabric.nodes_per_router);
  count("routers_per_group", fabric.routers_per_group);
  count("global_links_per_router", fabric.global_links_per_router);
  set_if_any(value, "local_bytes_per_s", fabric.local_bandwidth);
  set_if_any(value, "global_bytes_per_s", fabric.global_bandwidth);
  if (!fabric.dimensions.empty()) {
    value.set("dimensions", ValueArray(fabric.dimensions.begin(), fabric.dimensions.end()));
  }
  set_if_any(value, "link_bytes_per_s", fabric.link_bandwidth);
  return value;
}

}  // namespace

Value gpu_value(const GpuSpec& gpu) {
  Value value;
  value.set("name", gpu.name);
  value.set("title", gpu.title);
  value.set("vendor", std::string(enum_name(gpu.vendor)));
  value.set("architecture", std::string(gpu.architecture));
  if (gpu.compute_capability > 0) value.set("compute_capability", gpu.compute_capability);
  value.set("sm_count", gpu.sm_count);
  value.set("clock_hz", gpu.clock.value());
  Value tensor;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (gpu.tensor_rate(dtype).value() > 0 && !is_weight_only(dtype)) {
      tensor.set(enum_name(dtype), rounded(gpu.tensor_rate(dtype).value()));
    }
  }
  value.set("tensor_flops_per_s", std::move(tensor));
  value.set("fma_flops_per_s", gpu.fma_rate().value());
  value.set("memory_bytes", gpu.memory_capacity.value());
  value.set("usable_memory_bytes", gpu.usable_memory().value());
  value.set("dram_bytes_per_s", gpu.dram_bandwidth.value());
  value.set("l2_bytes", gpu.l2_size.value());
  value.set("l2_bytes_per_s", gpu.l2_bandwidth.value());
  value.set("shared_bytes_per_sm", gpu.shared_size_sm.value());
  set_if_any(value, "nvlink_bytes_per_s", gpu.nvlink_bandwidth);
  set_if_any(value, "pcie_bytes_per_s", gpu.pcie_bandwidth);
  value.set("power_w", gpu.power.value());
  value.set("launch_latency_s", rounded(gpu.launch_latency.value()));
  if (gpu.price) value.set("usd_per_hour", gpu.price->value());
  return value;
}

Value model_value(const Transformer& model) {
  Value value;
  value.set("name", model.name);
  value.set("title", model.title);
  value.set("parameters", parameter_count(model));
  if (model.parameters_published > 0) {
    value.set("parameters_published", model.parameters_published);
  }
  value.set("active_parameters", active_parameter_count(model));
  value.set("layers", model.layers);
  value.set("hidden", model.hidden);
  if (model.intermediate > 0) value.set("intermediate", model.intermediate);
  value.set("query_heads", model.query_heads);
  value.set("kv_heads", model.kv_heads);
  value.set("head_dim", model.head_dim);
  if (model.mla) value.set("kv_rank", model.mla->kv_rank);
  if (model.moe) {
    value.set("experts", ValueObject{{"count", model.moe->experts},
                                     {"topk", model.moe->topk},
                                     {"intermediate", model.moe->intermediate}});
  }
  if (model.draft_head) {
    value.set("draft_head",
              ValueObject{{"kind", std::string(enum_name(model.draft_head->kind))},
                          {"target_hidden", model.draft_head->target_hidden},
                          {"target_vocabulary", model.draft_head->target_vocabulary}});
  }
  if (model.mtp_layers > 0) value.set("mtp_layers", model.mtp_layers);
  if (model.encoder_weights() > 0) value.set("encoder_parameters", model.encoder_weights());
  if (!model.left_out.empty()) {
    value.set("left_out", ValueArray(model.left_out.begin(), model.left_out.end()));
  }
  value.set("vocabulary", model.vocabulary);
  value.set("context_max", model.context_max);
  value.set("weight_bytes", weight_bytes_per_rank(model, {}, 0, DType::bf16).value());
  if (model.released) {
    value.set("released",
              ValueObject{
                  {"dtype", dtype_text(model.released->linear)},
                  {"attention_dtype", dtype_text(model.released->attention)},
                  {"expert_dtype", dtype_text(model.released->experts)},
                  {"shared_expert_dtype", dtype_text(model.released->shared)},
                  {"weight_bytes", weight_bytes_per_rank(model, {}, 0, *model.released).value()}});
  }
  value.set("kv_bytes_per_token", kv_bytes_per_token(model, DType::bf16).value());
  if (const Bytes state = sequence_memory_per_rank(model, {}, 0, DType::bf16).state;
      state > Bytes(0.0)) {
    value.set("state_bytes_per_sequence", state.value());
  }
  return value;
}

Value cluster_value(const ClusterSpec& cluster) {
  Value value;
  value.set("name", cluster.name);
  value.set("gpus", cluster.gpu_count());
  value.set("nodes", cluster.nodes);
  if (cluster.groups.empty()) {
    value.set("gpu", cluster.gpu.name);
    value.set("node", node_value(cluster.node));
  } else {
    ValueArray groups;
    for (const NodeGroup& group : cluster.groups) {
      groups.emplace_back(ValueObject{{"name", group.name},
                                      {"nodes", group.nodes},
                                      {"gpu", group.gpu.name},
                                      {"node", node_value(group.node)}});
    }
    value.set("groups", std::move(groups));
  }
  if (cluster.nodes > 1) value.set("fabric", fabric_value(cluster.fabric));
  return value;
}

Value preset_value(const EnginePreset& preset) {
  ValueArray settings;
  for (const PresetGroup& group : preset.groups) {
    for (const PresetSetting& setting : group.settings) {
      ValueObject entry = {{"key", setting.key}, {"value", setting.value}};
      if (!group.condition().empty()) entry.emplace_back("where", group.condition());
      entry.emplace_back("source", setting.source);
      settings.emplace_back(std::move(entry));
    }
  }
  for (const ExchangeChoice& choice : ExchangeChoices::built_in().choices()) {
    if (choice.engine != preset.framework()) continue;
    settings.emplace_back(ValueObject{{"key", "[deployment] expert_exchange"},
                                      {"value", exchange_text(choice.exchange)},
                                      {"where", choice.condition()},
                                      {"source", choice.source}});
  }
  ValueArray flags;
  for (const EngineFlag& flag : preset.flags) {
    ValueObject entry = {{"flag", flag.name}, {"key", flag.key}, {"is_negated", flag.is_negated}};
    if (flag.when_true) entry.emplace_back("when_true", *flag.when_true);
    if (!flag.no_effect.empty()) entry.emplace_back("no_effect", flag.no_effect);
    flags.emplace_back(std::move(entry));
  }
  Value value;
  value.set("name", preset.name);
  value.set("product", preset.product);
  value.set("version", preset.version);
  value.set("summary", preset.summary);
  value.set("settings", std::move(settings));
  value.set("flags", std::move(flags));
  return value;
}

}  // namespace foretoken

// What the replicas of a pool came to, added up.
#include "sim/run/deployment.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

PrefixTotals DeployedEngine::prefixes() const {
  PrefixTotals totals;
  for (const auto& replica : replicas_) totals += replica->prefix_totals();
  return totals;
}

HostTotals DeployedEngine::host() const {
  HostTotals totals;
  for (const auto& replica : replicas_) totals += replica->host_totals();
  return totals;
}

AdapterTotals DeployedEngine::adapters() const {
  AdapterTotals totals;
  for (const auto& replica : replicas_) totals += replica->adapter_totals();
  return totals;
}

EncoderTotals DeployedEngine::encoder() const {
  EncoderTotals totals;
  for (const auto& replica : replicas_) totals += replica->encoder_totals();
  return totals;
}

SpeculationTotals DeployedEngine::speculation() const {
  SpeculationTotals totals;
  for (const auto& replica : replicas_) {
    if (replica->speculation() != nullptr) totals += *replica->speculation();
  }
  return totals;
}

Seconds DeployedEngine::smallest_step() const {
  if (pricers_.empty() || role_ == PoolRole::encode) return {};
  BatchShape one{.tokens = 1, .logit_rows = 1, .attention = AttentionLoad::exact({{1, 1}})};
  const std::vector<BatchShape> ranks(
      static_cast<std::size_t>(scenario_.deployment.layout.data_parallel_attention), one);
  Seconds time;
  for (const PricedKernel& kernel : pricers_.front().pricer->kernels(ranks))
    time += kernel.price.time * kernel.call.calls;
  const HostSettings host = scenario_.engine.host.here(stretch_of(scenario_, "host"));
  return host.async_scheduling ? time + host.gap : time + host.gap + host.step + host.sequence;
}

PriceTotals DeployedEngine::totals() const {
  PriceTotals totals;
  for (const PricerEntry& entry : pricers_) entry.pricer->add_to(totals);
  for (const DraftEntry& entry : draft_pricers_) {
    if (entry.pricer != nullptr) entry.pricer->add_to(totals);
  }
  for (const EncoderEntry& entry : encoder_pricers_) entry.pricer->add_to(totals);
  Seconds communication, host, copies, adapters;
  for (const auto& replica : replicas_) {
    totals.transfers_priced += replica->sends_priced();
    totals.transfers_shared += replica->sends_shared();
    copies += replica->copy_wait();
    adapters += replica->adapter_wait();
    communication += replica->shared_communication();
    host += replica->host().waited();
    totals.host_work += replica->host().worked();
  }
  const auto add = [&](std::string_view family, Seconds time) {
    if (time > Seconds(0.0)) totals.time_by.emplace_back(family, time);
  };
  add("shared_communication", communication);
  add("host", host);
  add("kv_copy", copies);
  add("adapter_load", adapters);
  return totals;
}

}  // namespace foretoken

#include "sim/run/handoff_figures.hpp"

#include <utility>

#include "sim/run/request_figures.hpp"

namespace foretoken {

void add_handoffs(const Scenario& scenario, const Timeline& timeline, Report& report) {
  if (!hands_over(scenario)) return;
  Report::KvTransfers& transfers = report.kv_transfers.emplace(Report::KvTransfers{});
  std::vector<double> wait, transfer, exposed;
  const HandoffSettings& settings = scenario.deployment.handoff;
  if (settings.retry == HandoffRetry::failed_side) transfers.kept = 0;
  if (settings.kv_load_failure == KvLoadFailure::recompute) transfers.recomputed = 0;
  for (const RequestRecord& record : timeline.requests()) {
    const KvHandoff& handoff = record.handoff;
    transfers.bytes += handoff.bytes.value();
    if (transfers.kept) *transfers.kept += handoff.kept;
    if (transfers.recomputed) *transfers.recomputed += handoff.recomputed;
    const bool is_local = record.prompt_tokens <= settings.local_prefill_max;
    if (record.output_asked > 1 && is_local && timeline.is_counted(record)) ++transfers.local;
    if (!handoff.has_happened() || !timeline.is_counted(record)) continue;
    wait.push_back(handoff.wait.value());
    transfer.push_back(handoff.transfer.value());
    exposed.push_back(handoff.exposed.value());
  }
  transfers.count = static_cast<std::int64_t>(transfer.size());
  transfers.wait_ms = in_milliseconds(summarize(std::move(wait)));
  transfers.transfer_ms = in_milliseconds(summarize(std::move(transfer)));
  transfers.exposed_ms = in_milliseconds(summarize(std::move(exposed)));
}

}  // namespace foretoken

#include "sim/run/request_rows.hpp"

#include <algorithm>

namespace foretoken {

std::vector<RequestRow> request_rows(const Timeline& timeline, const Workload& workload) {
  const std::vector<Tenant> tenants = workload.tenants();
  const std::vector<std::string> models = workload.models();
  std::vector<RequestRow> rows;
  rows.reserve(timeline.requests().size());
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
    row.drafted = record.drafted;
    row.accepted = record.accepted;
    if (row.first_token_s) row.ttft_ms = record.ttft().value() * 1e3;
    if (row.finished_s) {
      row.tpot_ms = record.tpot().value() * 1e3;
      row.e2e_ms = record.end_to_end().value() * 1e3;
    }
    row.preemptions = record.preemptions;
    row.attempts = record.attempts;
    if (record.handoff.has_happened()) {
      row.handoff = RequestRow::Handoff{
          record.handoff.from.value, record.handoff.wait.value() * 1e3,
          record.handoff.transfer.value() * 1e3, record.handoff.exposed.value() * 1e3};
    }
    row.status = enum_name(record.status);
    row.ended_s = record.ended.value();
    row.priority = record.priority;
    row.reason = enum_name(record.reason);
    if (!models.empty()) row.model = models.at(static_cast<std::size_t>(record.model));
    if (!tenants.empty()) row.tenant = tenants.at(static_cast<std::size_t>(record.tenant)).name;
    row.session = record.session;
    if (record.after) row.after = record.after->value;
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &RequestRow::id);
  return rows;
}

}  // namespace foretoken

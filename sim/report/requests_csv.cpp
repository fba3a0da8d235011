// requests.csv: one line a request, by id. Dates to the microsecond, latencies to the microsecond
// too (milliseconds with three decimals); what never happened is an empty cell. A run that
// speculates has two columns more; where some replicas prefill for others, columns about that
// follow, and where requests lead to each other, whose they are and which one they waited for;
// where there are several models or tenants, theirs are last.
#include <fmt/format.h>

#include <iterator>

#include "sim/base/csv_cell.hpp"
#include "sim/report/report.hpp"

namespace foretoken {
namespace {

constexpr std::string_view header =
    "id,replica,arrival_s,scheduled_s,first_token_s,finished_s,prompt_tokens,output_tokens,"
    "ttft_ms,tpot_ms,e2e_ms,preemptions,attempts,status,ended_s,priority,reason";
constexpr std::string_view handoff_header =
    ",prefill_replica,kv_wait_ms,kv_transfer_ms,kv_exposed_ms";
constexpr std::string_view speculation_header = ",drafted,accepted";
constexpr std::string_view trajectory_header = ",session,after";
constexpr std::string_view model_header = ",model", tenant_header = ",tenant";

constexpr int decimals_s = 6;
constexpr int decimals_ms = 3;

void append_number(fmt::memory_buffer& out, const std::optional<double>& value, int decimals) {
  if (value) fmt::format_to(std::back_inserter(out), "{:.{}f}", *value, decimals);
  out.push_back(',');
}

void append_row(fmt::memory_buffer& out, const RequestRow& row, bool speculates) {
  fmt::format_to(std::back_inserter(out), "{},{},", row.id, row.replica);
  append_number(out, row.arrival_s, decimals_s);
  append_number(out, row.scheduled_s, decimals_s);
  append_number(out, row.first_token_s, decimals_s);
  append_number(out, row.finished_s, decimals_s);
  fmt::format_to(std::back_inserter(out), "{},{},", row.prompt_tokens, row.output_tokens);
  append_number(out, row.ttft_ms, decimals_ms);
  append_number(out, row.tpot_ms, decimals_ms);
  append_number(out, row.e2e_ms, decimals_ms);
  fmt::format_to(std::back_inserter(out), "{},{},{},{:.{}f},{},{}", row.preemptions, row.attempts,
                 row.status, row.ended_s, decimals_s, row.priority, row.reason);
  if (speculates) fmt::format_to(std::back_inserter(out), ",{},{}", row.drafted, row.accepted);
}

void append_handoff(fmt::memory_buffer& out, const std::optional<RequestRow::Handoff>& handoff) {
  if (!handoff) return out.append(std::string_view(",,,,"));
  fmt::format_to(std::back_inserter(out), ",{},{:.{}f},{:.{}f},{:.{}f}", handoff->prefill_replica,
                 handoff->wait_ms, decimals_ms, handoff->transfer_ms, decimals_ms,
                 handoff->exposed_ms, decimals_ms);
}

void append_place(fmt::memory_buffer& out, const RequestRow& row) {
  out.push_back(',');
  if (row.session) fmt::format_to(std::back_inserter(out), "{}", *row.session);
  out.push_back(',');
  if (row.after) fmt::format_to(std::back_inserter(out), "{}", *row.after);
}

}  // namespace

std::string requests_csv(const Report& report) {
  fmt::memory_buffer out;
  const bool speculates = report.speculation.has_value();
  out.append(header);
  if (speculates) out.append(speculation_header);
  if (report.kv_transfers) out.append(handoff_header);
  if (report.trajectories) out.append(trajectory_header);
  if (!report.models.empty()) out.append(model_header);
  if (!report.tenants.empty()) out.append(tenant_header);
  out.push_back('\n');
  for (const RequestRow& row : report.rows) {
    append_row(out, row, speculates);
    if (report.kv_transfers) append_handoff(out, row.handoff);
    if (report.trajectories) append_place(out, row);
    if (!report.models.empty()) fmt::format_to(std::back_inserter(out), ",{}", csv_cell(row.model));
    if (!report.tenants.empty())
      fmt::format_to(std::back_inserter(out), ",{}", csv_cell(row.tenant));
    out.push_back('\n');
  }
  return fmt::to_string(out);
}

}  // namespace foretoken

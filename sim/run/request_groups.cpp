#include "sim/run/request_groups.hpp"

#include <map>

#include "sim/run/latency_row.hpp"
#include "sim/run/throughput.hpp"

namespace foretoken {
namespace {

struct Samples {
  RequestGroup group;
  std::int64_t good = 0;
  double output_tokens = 0;
  std::vector<double> ttft, tpot, end_to_end;  // ms
};

void add(const RequestRecord& record, const SloTargets& slo, Samples& samples) {
  ++samples.group.arrived;
  if (record.status == RequestStatus::rejected) ++samples.group.rejected;
  if (record.first_token >= Seconds(0.0)) samples.ttft.push_back(record.ttft().value() * 1e3);
  if (record.status != RequestStatus::completed) return;
  ++samples.group.completed;
  if (slo.is_met_by(record)) ++samples.good;
  if (record.output_tokens > 1) samples.tpot.push_back(record.tpot().value() * 1e3);
  samples.end_to_end.push_back(record.end_to_end().value() * 1e3);
}

RequestGroup figures_of(Samples samples, double seconds) {
  RequestGroup& group = samples.group;
  group.ttft_ms = latency_row(std::move(samples.ttft));
  group.tpot_ms = latency_row(std::move(samples.tpot));
  group.e2e_ms = latency_row(std::move(samples.end_to_end));
  group.attainment = static_cast<double>(samples.good) / static_cast<double>(group.arrived);
  if (seconds > 0.0) group.output_tokens_per_s = samples.output_tokens / seconds;
  return std::move(group);
}

}  // namespace

std::vector<RequestGroup> request_groups(const Timeline& timeline, const SloTargets& slo,
                                         const Report::Steady& steady, int RequestRecord::*member,
                                         const std::vector<std::string>& names) {
  std::map<int, Samples> groups;
  for (const RequestRecord& record : timeline.requests()) {
    if (timeline.is_counted(record)) add(record, slo, groups[record.*member]);
  }
  std::vector<RequestGroup> figures;
  if (groups.size() < 2) return figures;
  for (const RequestRecord& record : timeline.requests()) {
    const auto group = groups.find(record.*member);
    if (group == groups.end()) continue;
    group->second.output_tokens +=
        steady_output_tokens(record, timeline.is_counted(record), steady);
  }
  for (auto& [value, samples] : groups) {
    if (names.empty()) {
      samples.group.priority = value;
    } else {
      samples.group.name = names.at(static_cast<std::size_t>(value));
    }
    figures.push_back(figures_of(std::move(samples), steady.to_s - steady.from_s));
  }
  return figures;
}

}  // namespace foretoken

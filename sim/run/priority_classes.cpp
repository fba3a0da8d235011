#include "sim/run/priority_classes.hpp"

#include <map>

#include "sim/metrics/distribution.hpp"

namespace foretoken {
namespace {

struct Samples {
  std::int64_t arrived = 0, completed = 0, good = 0;
  std::vector<double> ttft, tpot, end_to_end;  // ms
};

LatencyRow row_of(std::vector<double> samples) {
  const Summary summary = summarize(std::move(samples));
  return {summary.mean, summary.p50, summary.p90, summary.p95, summary.p99, summary.max};
}

}  // namespace

std::vector<PriorityClass> priority_classes(const Timeline& timeline, const SloTargets& slo) {
  std::map<int, Samples> classes;
  for (const RequestRecord& record : timeline.requests()) {
    if (!timeline.is_counted(record)) continue;
    Samples& samples = classes[record.priority];
    ++samples.arrived;
    if (record.first_token >= Seconds(0.0)) samples.ttft.push_back(record.ttft().value() * 1e3);
    if (record.status != RequestStatus::completed) continue;
    ++samples.completed;
    if (slo.is_met_by(record)) ++samples.good;
    if (record.output_tokens > 1) samples.tpot.push_back(record.tpot().value() * 1e3);
    samples.end_to_end.push_back(record.end_to_end().value() * 1e3);
  }
  std::vector<PriorityClass> figures;
  if (classes.size() < 2) return figures;
  for (auto& [priority, samples] : classes) {
    figures.push_back({priority, samples.arrived, samples.completed,
                       row_of(std::move(samples.ttft)), row_of(std::move(samples.tpot)),
                       row_of(std::move(samples.end_to_end)),
                       static_cast<double>(samples.good) / static_cast<double>(samples.arrived)});
  }
  return figures;
}

}  // namespace foretoken

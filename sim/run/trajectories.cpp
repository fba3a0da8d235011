#include "sim/run/trajectories.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/run/latency_row.hpp"

namespace foretoken {
namespace {

struct Trajectory {
  std::int64_t requests = 0, completed = 0, output_tokens = 0;
  Seconds begin{-1.0};
  const RequestRecord* last = nullptr;  // to end

  void add(const RequestRecord& record) {
    ++requests;
    completed += record.status == RequestStatus::completed ? 1 : 0;
    output_tokens += record.output_tokens;
    if (begin < Seconds(0.0) || record.arrival < begin) begin = record.arrival;
    if (last == nullptr || record.ended > last->ended) last = &record;
  }
  [[nodiscard]] bool is_complete() const { return completed == last->session_requests; }
};

using RecordOf =
    std::unordered_map<std::uint32_t, const RequestRecord*>;  // looked up, never walked

/// Time that requests took on the path that decided when the last one ended: from there, always
/// the request whose end let the next be sent, or whose dispatch did, as far as the next waited.
Seconds model_time(const RequestRecord& last, const RecordOf& record_of) {
  Seconds sum = last.end_to_end();
  for (const RequestRecord* next = &last; next->after;) {
    const RequestRecord* record = record_of.at(next->after->value);
    sum += std::min(record->end_to_end(), next->arrival - record->arrival);
    next = record;
  }
  return sum;
}

}  // namespace

std::optional<TrajectoryFigures> trajectory_figures(const Timeline& timeline) {
  std::map<std::uint64_t, Trajectory> trajectories;
  RecordOf record_of;
  bool is_alone = true;
  for (const RequestRecord& record : timeline.requests()) {
    if (!record.session) continue;
    is_alone = is_alone && record.session_requests < 2;
    trajectories[*record.session].add(record);
    record_of[record.id.value] = &record;
  }
  if (is_alone) return std::nullopt;
  TrajectoryFigures figures;
  std::vector<double> times_ms, rates;
  double requests = 0;
  Seconds whole, in_model;
  for (const auto& [number, trajectory] : trajectories) {
    if (trajectory.begin < timeline.warmup()) continue;
    ++figures.started;
    requests += static_cast<double>(trajectory.requests);
    if (!trajectory.is_complete()) continue;
    ++figures.completed;
    const Seconds time = trajectory.last->finished - trajectory.begin;
    times_ms.push_back(time.value() * 1e3);
    if (time > Seconds(0.0))
      rates.push_back(static_cast<double>(trajectory.output_tokens) / time.value());
    whole += time;
    in_model += model_time(*trajectory.last, record_of);
  }
  if (figures.started > 0) figures.requests_mean = requests / static_cast<double>(figures.started);
  figures.e2e_ms = latency_row(std::move(times_ms));
  figures.output_tokens_per_s = latency_row(std::move(rates));
  if (whole > Seconds(0.0)) figures.model_share = in_model / whole;
  return figures;
}

}  // namespace foretoken

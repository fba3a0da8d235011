#include "workloads/requests/trace.hpp"

#include <algorithm>
#include <numeric>

namespace foretoken {

bool Trace::add(const TraceRow& row, const TraceLimits& limits) {
  constexpr std::size_t words_an_item = 8;
  const std::size_t items = media_total_ + row.media.size();
  const std::size_t hashes = hashes_.size() + row.prefix_hashes.size();
  if (rows_.size() >= limits.rows || hashes + words_an_item * items > limits.hashes) return false;
  if (!row.media.empty()) media_.emplace(rows_.size(), row.media);
  media_total_ = items;
  for (const TraceItem& item : row.media) has_medium_[static_cast<std::size_t>(item.medium)] = true;
  rows_.push_back({row.arrival_ns, hashes_.size(),
                   static_cast<std::uint32_t>(row.prefix_hashes.size()), row.prompt_tokens,
                   row.output_tokens, number_of(row.model)});
  hashes_.insert(hashes_.end(), row.prefix_hashes.begin(), row.prefix_hashes.end());
  return true;
}

std::int32_t Trace::number_of(const std::string& model) {
  if (model.empty()) return -1;
  const auto known = std::ranges::find(models_, model);
  const auto number = static_cast<std::int32_t>(known - models_.begin());
  if (known == models_.end()) models_.push_back(model);
  return number;
}

void Trace::set_trajectories(std::vector<TraceTrajectory> trajectories) {
  trajectories_ = std::move(trajectories);
  has_texts_ = std::ranges::any_of(trajectories_, [](const TraceTrajectory& calls) {
    return std::ranges::any_of(calls, &TraceCall::adds_to_text);
  });
}

void Trace::finish() {
  if (rows_.empty()) return;
  if (!trajectories_.empty() || !media_.empty()) follow_sorting();
  if (!std::ranges::is_sorted(rows_, {}, &Row::arrival_ns))  // sorting takes a copy
    std::ranges::stable_sort(rows_, {}, &Row::arrival_ns);
  const std::int64_t first = rows_.front().arrival_ns;
  for (Row& row : rows_) row.arrival_ns -= first;
}

void Trace::follow_sorting() {
  std::vector<std::size_t> order(rows_.size()), place(rows_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return rows_[row].arrival_ns; });
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (TraceTrajectory& trajectory : trajectories_)
    for (TraceCall& call : trajectory) call.row = place[call.row];
  std::map<std::size_t, std::vector<TraceItem>> media;
  for (auto& [row, own] : media_) media.emplace(place[row], std::move(own));
  media_ = std::move(media);
  std::ranges::stable_sort(trajectories_, {},
                           [](const TraceTrajectory& calls) { return calls.front().row; });
}

}  // namespace foretoken

#include "sim/planner/plan/plan_candidate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace foretoken {
namespace {

constexpr double other_hardware = 4;  // as far as 16 times the ranks

/// "8" as {8}, "1:3" as {1, 3}; empty: nothing of the kind.
std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (const char* begin = text.data();;) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(begin, end, number);
    if (parsed.ec != std::errc() || number <= 0) return {};
    numbers.push_back(number);
    if (parsed.ptr == end) return numbers;
    if (*parsed.ptr != ':') return {};
    begin = parsed.ptr + 1;
  }
}

}  // namespace

double unlikeness(const PlanCandidate& one, const PlanCandidate& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    if (one.values[i] == other.values[i]) continue;
    const std::vector<double> a = numbers_in(one.values[i]), b = numbers_in(other.values[i]);
    if (a.empty() || a.size() != b.size()) {
      sum += other_hardware;
      continue;
    }
    for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(std::log2(a[k] / b[k]));
  }
  return sum;
}

int nodes_of_groups(int group_gpus, int count, int node_gpus) {
  if (group_gpus > node_gpus) return count * ((group_gpus + node_gpus - 1) / node_gpus);
  const int a_node = node_gpus / group_gpus;
  return (count + a_node - 1) / a_node;
}

void PlanCandidate::add_gpus(const std::string& name, int count) {
  auto& kinds = unit_gpus_by_name;
  const auto known = std::ranges::find(kinds, name, &std::pair<std::string, int>::first);
  if (known != kinds.end()) {
    known->second += count;
  } else {
    kinds.emplace_back(name, count);
  }
}

int PlanCandidate::nodes(int units) const {
  int sum = 0;
  for (const Groups& each : groups)
    sum += nodes_of_groups(each.gpus, each.count * units, each.node_gpus);
  return sum;
}

double PlanCandidate::dollars_of_nodes(int units) const {
  double sum = 0;
  for (const Groups& each : groups) {
    sum += nodes_of_groups(each.gpus, each.count * units, each.node_gpus) * each.node_gpus *
           each.gpu_dollars_per_hour;
  }
  return sum;
}

}  // namespace foretoken

#include "sim/serving/stage_price.hpp"

#include <algorithm>

namespace foretoken {

void FamilyTime::add(const Prediction& prediction, Seconds more) {
  time += more;
  by_bound[static_cast<std::size_t>(prediction.bound_by)] += more;
  expected_error += more * prediction.expected_error;
}

void FamilyTime::add(const FamilyTime& other, double times) {
  time += other.time * times;
  for (std::size_t i = 0; i < by_bound.size(); ++i) by_bound[i] += other.by_bound[i] * times;
  expected_error += other.expected_error * times;
}

FamilyTime& family_in(std::vector<FamilyTime>& times, std::string_view family) {
  const auto found = std::ranges::find(times, family, &FamilyTime::family);
  if (found != times.end()) return *found;
  times.emplace_back().family = family;
  return times.back();
}

std::vector<std::vector<Seconds>> OverlappedStep::times(double stretch) const {
  std::vector<std::vector<Seconds>> stretched;
  for (const Part& part : parts_) {
    std::vector<Seconds>& times = stretched.emplace_back(part.known);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] += part.shared[i] * stretch;
  }
  return stretched;
}

Seconds OverlappedStep::time(double stretch) const {
  return schedule_->critical_path(times(stretch));
}

Seconds OverlappedStep::shared_time() const {
  Seconds sum;
  for (const Part& part : parts_) {
    for (const Seconds time : part.shared) sum += time;
  }
  return sum;
}

}  // namespace foretoken

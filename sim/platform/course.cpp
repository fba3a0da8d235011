#include "sim/platform/course.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

Seconds time_of(const Section& section) {
  Seconds time;
  for (const Round& round : section.rounds) time += round.time();
  return time;
}

std::int64_t transfers_of(const Section& section) {
  return std::ranges::count_if(section.rounds, [](const Round& r) { return !r.flows.empty(); });
}

}  // namespace

Seconds Round::flowing() const {
  Seconds longest;
  for (const PlannedFlow& flow : flows) longest = std::max(longest, flow.size / flow.rate);
  return longest;
}

Section section_of(PlannedPhase phase, int repeats, Pace pace) {
  if (pace == Pace::bulk) {
    for (PlannedFlow& flow : phase.flows) flow.size *= repeats;
    return {{Round{phase.latency * repeats, std::move(phase.flows)}}, 1};
  }
  for (PlannedFlow& flow : phase.flows) flow.size = flow.size / phase.steps;
  return {{Round{phase.latency / phase.steps, std::move(phase.flows)}}, phase.steps};
}

void hold_to(BytesPerSecond rate, PlannedPhase& phase) {
  Bytes sum;
  for (const PlannedFlow& flow : phase.flows) sum += flow.size;
  for (PlannedFlow& flow : phase.flows) flow.rate = std::min(flow.rate, rate * (flow.size / sum));
}

void Course::next() {
  if (++round_ < sections_[section_].rounds.size()) return;
  round_ = 0;
  if (++repeat_ < sections_[section_].repeats) return;
  repeat_ = 0;
  ++section_;
}

Seconds Course::left() const {
  if (is_over()) return {};
  const Section& current = sections_[section_];
  Seconds time = time_of(current) * static_cast<double>(current.repeats - repeat_);
  for (std::size_t i = 0; i < round_; ++i) time -= current.rounds[i].time();
  for (std::size_t i = section_ + 1; i < sections_.size(); ++i)
    time += time_of(sections_[i]) * static_cast<double>(sections_[i].repeats);
  return time;
}

std::int64_t Course::transfers_left() const {
  if (is_over()) return 0;
  std::int64_t count = 0;
  for (std::size_t i = section_; i < sections_.size(); ++i)
    count += transfers_of(sections_[i]) * (sections_[i].repeats - (i == section_ ? repeat_ : 0));
  for (std::size_t i = 0; i < round_; ++i)
    count -= sections_[section_].rounds[i].flows.empty() ? 0 : 1;
  return count;
}

std::vector<LinkIndex> Course::links() const {
  std::vector<LinkIndex> links;
  for (const Section& section : sections_) {
    for (const Round& round : section.rounds) {
      for (const PlannedFlow& flow : round.flows)
        links.insert(links.end(), flow.route.begin(), flow.route.end());
    }
  }
  std::ranges::sort(links);
  const auto repeated = std::ranges::unique(links);
  links.erase(repeated.begin(), repeated.end());
  return links;
}

Seconds Course::skip(Seconds elapsed) {
  while (!is_over()) {
    if (round_ == 0) {  // whole repetitions at once; the last one round by round
      const Section& current = sections_[section_];
      const Seconds each = time_of(current);
      const auto left = static_cast<double>(current.repeats - repeat_ - 1);
      const double whole = each > Seconds(0) ? std::min(left, std::floor(elapsed / each)) : left;
      repeat_ += static_cast<std::int64_t>(whole);
      elapsed -= each * whole;
    }
    const Seconds time = round().time();
    if (elapsed < time) return std::max(elapsed, Seconds(0));
    elapsed -= time;
    next();
  }
  return {};
}

}  // namespace foretoken

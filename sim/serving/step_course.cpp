#include "sim/serving/step_course.hpp"

#include <algorithm>

namespace foretoken {

StepCourse::StepCourse(std::span<const KernelCall> kernels) : layers_end_(kernels.size()) {
  const auto is_of_layers = [](const KernelCall& call) { return call.calls > 1; };
  const auto first = std::ranges::find_if(kernels, is_of_layers);
  if (first == kernels.end()) return;  // one layer, and what is around it
  layers_begin_ = static_cast<std::size_t>(first - kernels.begin());
  while (!is_of_layers(kernels[layers_end_ - 1])) --layers_end_;
}

std::vector<StepCourse::Part>& StepCourse::stretch_of(std::size_t kernel) {
  return parts_[kernel < layers_begin_ ? head : kernel < layers_end_ ? layers : tail];
}

void StepCourse::add_time(std::size_t kernel, Seconds time) {
  stretch_of(kernel).back().time += time;
}

void StepCourse::add_slot(std::size_t kernel, std::size_t slot) {
  stretch_of(kernel).back().slots.push_back(slot);
}

void StepCourse::add_traffic(std::size_t kernel, const CollectivePhases& phases, CommGroup group,
                             int calls) {
  std::vector<Part>& parts = stretch_of(kernel);
  for (CollectivePhase phase : phases) {
    phase.latency *= calls;
    phase.bytes *= calls;
    parts.back().traffic = phase;
    parts.back().group = group;
    parts.emplace_back();
  }
  if (&parts == &parts_[layers] && !phases.empty())
    repeats_ = std::max(repeats_, std::int64_t{calls});
}

void StepOrder::add(const StepCourse& course, std::span<const Prediction> slots) {
  repeats_ = std::max(repeats_, course.repeats_);
  for (std::size_t stretch = 0; stretch < parts_.size(); ++stretch) {
    for (const StepCourse::Part& part : course.parts_[stretch]) {
      Seconds time = part.time;
      for (const std::size_t slot : part.slots) time += slots[slot].time;
      const bool is_nothing = time == Seconds(0) && part.traffic.time() == Seconds(0);
      if (!is_nothing) parts_[stretch].push_back({time, part.traffic, part.group});
    }
  }
}

std::vector<StepRounds> StepOrder::rounds() const {
  std::vector<StepRounds> rounds;
  bool moves = false;
  for (std::size_t stretch = 0; stretch < parts_.size(); ++stretch) {
    if (parts_[stretch].empty()) continue;
    StepRounds& added = rounds.emplace_back(parts_[stretch]);
    if (stretch == StepCourse::layers) added.repeats = repeats_;
    const auto repeats = static_cast<double>(added.repeats);
    for (StepPart& part : added.parts) {
      part.compute = part.compute / repeats;
      part.traffic.latency = part.traffic.latency / repeats;
      part.traffic.bytes = part.traffic.bytes / repeats;
      moves = moves || part.traffic.time() > Seconds(0);
    }
  }
  if (!moves) rounds.clear();
  return rounds;
}

}  // namespace foretoken

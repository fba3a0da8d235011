#include "hardware/known_relatives.hpp"

#include <algorithm>

#include "hardware/known_part.hpp"

namespace foretoken {

const std::vector<GpuSpec>& KnownRelatives::kin(const GpuSpec& gpu) const {
  auto found = std::ranges::find_if(
      asked_, [&](const Relatives& asked) { return same_part(asked.gpu, gpu); });
  if (found == asked_.end()) found = asked_.insert(asked_.end(), {gpu, known_kin(gpu)});
  return found->kin;
}

const GpuSpec* KnownRelatives::find(const GpuSpec& gpu) const {
  const std::vector<GpuSpec>& parts = kin(gpu);
  return parts.empty() ? nullptr : &parts.front();
}

}  // namespace foretoken

#include "hardware/known_relatives.hpp"

#include <algorithm>

#include "hardware/known_part.hpp"

namespace foretoken {

const GpuSpec* KnownRelatives::find(const GpuSpec& gpu) const {
  auto found = std::ranges::find_if(
      asked_, [&](const Relative& asked) { return same_part(asked.gpu, gpu); });
  if (found == asked_.end()) found = asked_.insert(asked_.end(), {gpu, known_relative(gpu)});
  return found->known ? &*found->known : nullptr;
}

}  // namespace foretoken

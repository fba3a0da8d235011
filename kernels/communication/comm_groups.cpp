#include "kernels/communication/comm_groups.hpp"

#include "sim/base/error.hpp"

namespace foretoken {

std::vector<std::vector<GpuId>> members_of(CommGroup group, const CommGroupSizes& sizes,
                                           std::span<const GpuId> stage) {
  FORETOKEN_CHECK(group != CommGroup::next_stage, "a send to the next stage is between stages");
  std::size_t size = stage.size();
  if (group == CommGroup::tensor_parallel) size = sizes.tensor;
  if (group == CommGroup::context_parallel) size = sizes.context;
  if (group == CommGroup::prompt_parallel) size = stage.size() / sizes.tensor;
  FORETOKEN_CHECK(size > 0 && stage.size() % size == 0, "{} GPUs in groups of {}", stage.size(),
                  size);
  const std::size_t count = stage.size() / size;
  std::vector<std::vector<GpuId>> groups(count);
  for (std::size_t i = 0; i < stage.size(); ++i) {
    // Like ranks of the tensor-parallel groups stand apart, all others in a row.
    groups[group == CommGroup::prompt_parallel ? i % count : i / size].push_back(stage[i]);
  }
  return groups;
}

}  // namespace foretoken

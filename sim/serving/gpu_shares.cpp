#include "sim/serving/gpu_shares.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// Whether `accepts` is true of all GPUs of the replica.
bool all_gpus(const Replica& replica, const auto& accepts) {
  return std::ranges::all_of(replica.stage_gpus(), [&](const std::vector<GpuId>& stage) {
    return std::ranges::all_of(stage, accepts);
  });
}

}  // namespace

bool GpuShares::are_free(const Replica& replica) const {
  return all_gpus(replica, [&](GpuId gpu) {
    const auto found = shares_.find(gpu.value);
    return found == shares_.end() || !found->second.is_taken;
  });
}

void GpuShares::take(const Replica& replica) {
  FORETOKEN_CHECK(are_free(replica), "replica {} starts on GPUs of another", replica.id().value);
  for (const std::vector<GpuId>& stage : replica.stage_gpus()) {
    for (const GpuId gpu : stage) shares_[gpu.value] = {true, std::nullopt, replica.id()};
  }
}

void GpuShares::leave(const Replica& replica, std::optional<int> weights) {
  for (const std::vector<GpuId>& stage : replica.stage_gpus()) {
    for (const GpuId gpu : stage) shares_[gpu.value] = {false, weights, replica.id()};
  }
}

bool GpuShares::hold(int weights, const Replica& replica) const {
  return all_gpus(replica, [&](GpuId gpu) {
    const auto found = shares_.find(gpu.value);
    return found != shares_.end() && found->second.weights == weights &&
           found->second.last != replica.id();
  });
}

}  // namespace foretoken

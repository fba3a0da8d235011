#include "sim/serving/free_blocks.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {

FreeBlocks::FreeBlocks(std::int64_t blocks) : runs_{{nullptr, blocks}}, count_(blocks) {}

void FreeBlocks::take_from_several(std::int64_t blocks) {
  while (blocks > 0) {
    FORETOKEN_CHECK(!runs_.empty(), "{} KV blocks more are taken than are free", blocks);
    Run& oldest = runs_.front();
    const std::int64_t taken = std::min(blocks, oldest.blocks);
    oldest.blocks -= taken;
    if (oldest.owner != nullptr) oldest.owner->left_blocks = oldest.blocks;
    blocks -= taken;
    if (oldest.blocks == 0) runs_.pop_front();
  }
  if (runs_.empty()) runs_.push_back({nullptr, 0});
}

void FreeBlocks::give_back(std::int64_t blocks) {
  count_ += blocks;
  if (runs_.back().owner == nullptr) {
    runs_.back().blocks += blocks;
  } else {
    runs_.push_back({nullptr, blocks});
  }
}

void FreeBlocks::leave(Sequence& owner, std::int64_t blocks) {
  if (blocks == 0) return;
  count_ += blocks;
  owner.left_blocks = blocks;
  runs_.push_back({&owner, blocks});
}

void FreeBlocks::reclaim(Sequence& owner) {
  if (owner.left_blocks == 0) return;
  count_ -= owner.left_blocks;
  owner.left_blocks = 0;
  std::erase_if(runs_, [&](const Run& run) { return run.owner == &owner; });
  if (runs_.empty()) runs_.push_back({nullptr, 0});
}

void FreeBlocks::disown(Sequence& owner) {
  if (owner.left_blocks == 0) return;
  owner.left_blocks = 0;
  for (Run& run : runs_) {
    if (run.owner == &owner) run.owner = nullptr;
  }
}

}  // namespace foretoken

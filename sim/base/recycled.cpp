#include "sim/base/recycled.hpp"

namespace foretoken {

RecycledMemory::Kept* RecycledMemory::kept() noexcept {
  thread_local bool is_over = false;  // vectors may outlive what is kept, as a thread ends
  struct Life : Kept {
    ~Life() { is_over = true; }
  };
  if (is_over) return nullptr;
  thread_local Life life;
  return &life;
}

RecycledMemory::Kept::~Kept() {
  for (std::size_t size = 0; size < blocks.size(); ++size) {
    for (int i = 0; i < count[size]; ++i)
      ::operator delete(blocks[size][static_cast<std::size_t>(i)]);
  }
}

void* RecycledMemory::take(std::size_t bytes) {
  if (!is_kept(bytes)) return ::operator new(bytes);
  const auto size = static_cast<std::size_t>(size_class(bytes));
  Kept* const memory = kept();
  if (memory != nullptr && memory->count[size] > 0)
    return memory->blocks[size][static_cast<std::size_t>(--memory->count[size])];
  return ::operator new (std::size_t{1} << (size + smallest_bits));
}

void RecycledMemory::give_back(void* block, std::size_t bytes) noexcept {
  const auto size = static_cast<std::size_t>(size_class(bytes));
  Kept* const memory = is_kept(bytes) ? kept() : nullptr;
  if (memory == nullptr || memory->count[size] == kept_max) return ::operator delete(block);
  memory->blocks[size][static_cast<std::size_t>(memory->count[size]++)] = block;
}

}  // namespace foretoken

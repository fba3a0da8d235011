// Vectors that live for microseconds, over and over, on the path of a price: getting a few KB from
// the heap and giving them back costs more than filling them. Their memory is kept by the thread,
// by powers of two, for the next one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <new>
#include <vector>

namespace foretoken {

/// Blocks of memory that a thread has given back. One that is destroyed, or that holds enough of a
/// size, gives them to the heap.
class RecycledMemory {
 public:
  static void* take(std::size_t bytes);
  static void give_back(void* block, std::size_t bytes) noexcept;

 private:
  static constexpr int smallest_bits = 6, largest_bits = 16;  // 64 B to 64 KiB
  static constexpr int kept_max = 8;                          // of a size
  struct Kept {
    std::array<std::array<void*, kept_max>, largest_bits - smallest_bits + 1> blocks;
    std::array<int, largest_bits - smallest_bits + 1> count{};
    ~Kept();
  };
  static int size_class(std::size_t bytes) {
    const int bits = static_cast<int>(std::bit_width(bytes - 1));
    return bits < smallest_bits ? 0 : bits - smallest_bits;
  }
  static bool is_kept(std::size_t bytes) {
    return bytes > 0 && bytes <= std::size_t{1} << largest_bits;
  }
  static Kept* kept() noexcept;
};

template <class Element>
struct RecycledAllocator {
  using value_type = Element;
  RecycledAllocator() = default;
  template <class Other>
  RecycledAllocator(const RecycledAllocator<Other>& /*other*/) {}
  Element* allocate(std::size_t count) {
    static_assert(alignof(Element) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return static_cast<Element*>(RecycledMemory::take(count * sizeof(Element)));
  }
  void deallocate(Element* elements, std::size_t count) noexcept {
    RecycledMemory::give_back(elements, count * sizeof(Element));
  }
  friend bool operator==(const RecycledAllocator&, const RecycledAllocator&) { return true; }
};

template <class Element>
using RecycledVector = std::vector<Element, RecycledAllocator<Element>>;

}  // namespace foretoken

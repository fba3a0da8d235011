// Vectors whose memory is kept by the thread for the next one.
#include "sim/base/recycled.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace foretoken {
namespace {

TEST(Recycled, GivesTheSameMemoryAgain) {
  const void* first = nullptr;
  {
    RecycledVector<int> numbers(100, 7);
    first = numbers.data();
  }
  const RecycledVector<double> others(60, 1.5);  // 480 bytes, of the same 512
  EXPECT_EQ(others.data(), first);
}

TEST(Recycled, HoldsWhatOtherVectorsHold) {
  for (std::size_t size = 0; size < 40'000; size = size * 3 + 1) {
    RecycledVector<std::uint32_t> numbers;
    for (std::size_t i = 0; i < size; ++i) numbers.push_back(static_cast<std::uint32_t>(i * i));
    RecycledVector<std::uint32_t> copy = numbers;
    for (std::size_t i = 0; i < size; ++i)
      ASSERT_EQ(copy[i], static_cast<std::uint32_t>(i * i)) << "of " << size;
  }
}

// More of a size than are kept, and larger than any that is.
TEST(Recycled, LeavesTheRestToTheHeap) {
  std::vector<RecycledVector<char>> many(100, RecycledVector<char>(1000, 'a'));
  many.emplace_back(1'000'000, 'b');
  many.clear();
  const RecycledVector<char> again(1000, 'c');
  EXPECT_EQ(again.back(), 'c');
}

// A vector may outlive the memory of the thread that made it.
TEST(Recycled, OutlivesItsThread) {
  RecycledVector<int> kept;
  std::thread([&] {
    thread_local RecycledVector<int> last;  // goes after the thread's memory has gone
    last.assign(10, 1);
    const RecycledVector<int> dropped(10, 3);
    kept.assign(10, 2);
  }).join();
  EXPECT_EQ(kept, RecycledVector<int>(10, 2));
}

}  // namespace
}  // namespace foretoken

// The strong types: which operations exist, and that those that have no meaning do not compile.
#include "sim/base/quantity.hpp"

#include <gtest/gtest.h>

#include <concepts>

namespace foretoken {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Dividable = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>);
static_assert(!Addable<Seconds, double>);
static_assert(!Multipliable<Seconds, Seconds>);
static_assert(!Dividable<BytesPerSecond, Bytes>);
static_assert(!Dividable<Bytes, FlopsPerSecond>);
static_assert(!Comparable<Seconds, double>);
static_assert(!std::convertible_to<double, Seconds>);
static_assert(!std::convertible_to<Seconds, double>);

TEST(Quantity, StartsAtZero) { EXPECT_EQ(Seconds().value(), 0.0); }

TEST(Quantity, AddsAndScales) {
  Seconds time(2.0);
  time += Seconds(1.0);  // 3
  time -= Seconds(0.5);  // 2.5
  time *= 4.0;           // 10
  EXPECT_EQ(time, Seconds(10.0));
  EXPECT_EQ(time / 4.0, Seconds(2.5));
  EXPECT_EQ(0.5 * time - time * 0.25, Seconds(2.5));
}

TEST(Quantity, RatioOfEqualDimensionsIsANumber) {
  static_assert(std::same_as<decltype(Bytes(1.0) / Bytes(1.0)), double>);
  EXPECT_EQ(Bytes(3.0) / Bytes(2.0), 1.5);
}

TEST(Quantity, CrossesDimensions) {
  // 96 GB at 4.8 TB/s take 20 ms.
  EXPECT_DOUBLE_EQ((Bytes(96e9) / BytesPerSecond(4.8e12)).value(), 0.020);
  // 2 TFLOP at 1 PFLOP/s take 2 ms.
  EXPECT_DOUBLE_EQ((Flops(2e12) / FlopsPerSecond(1e15)).value(), 0.002);
  EXPECT_EQ(BytesPerSecond(5.0) * Seconds(3.0), Bytes(15.0));
  EXPECT_EQ(Watts(700.0) * Seconds(2.0), Joules(1400.0));
}

TEST(Quantity, Orders) {
  EXPECT_LT(Seconds(1.0), Seconds(2.0));
  EXPECT_GE(Seconds(2.0), Seconds(2.0));
  EXPECT_NE(Seconds(1.0), Seconds(2.0));
}

}  // namespace
}  // namespace foretoken

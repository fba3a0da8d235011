// Random streams and the hash that seeds them. The golden values were computed independently of
// this code, from the published definitions of FNV-1a (64 bit) and MT19937-64; they hold on any
// machine.
#include "sim/base/random.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Fingerprint, IsFnv1a) {
  EXPECT_EQ(Fingerprint().value(), 0xcbf29ce484222325ULL);
  EXPECT_EQ(Fingerprint().add(std::uint64_t{1}).value(), 0x89cd31291d2aefa4ULL);
  // A text is its bytes and then its length: 'a', 1.
  EXPECT_EQ(Fingerprint().add("a").value(), 0xdedf9f982e43402dULL);
  EXPECT_EQ(Fingerprint().add(1.0).value(), 0xaab1693229ba1db8ULL);
}

TEST(Fingerprint, DependsOnOrderAndOnBoundaries) {
  EXPECT_NE(Fingerprint().add("a").add("b").value(), Fingerprint().add("b").add("a").value());
  EXPECT_NE(Fingerprint().add("ab").add("").value(), Fingerprint().add("a").add("b").value());
}

TEST(RandomStreams, GoldenFirstValues) {
  RandomStream stream = RandomStreams(1).stream("arrivals");
  EXPECT_EQ(stream(), 7303152047448766586ULL);
  EXPECT_EQ(stream(), 16840896306793395753ULL);
}

TEST(RandomStreams, UniformIsTheTop53Bits) {
  RandomStream stream = RandomStreams(1).stream("arrivals");
  // 7303152047448766586 / 2^64 = 0.39590466579179562…
  EXPECT_EQ(uniform(stream), 0.39590466579179562);
}

TEST(RandomStreams, UniformStaysBelowOne) {
  RandomStream stream = RandomStreams(2).stream("x");
  double sum = 0.0;
  for (int i = 0; i < 10000; ++i) {
    const double value = uniform(stream);
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  // The mean of 10,000 has a standard deviation of 0.289/100 = 0.0029; 0.015 is five of them.
  EXPECT_NEAR(sum / 10000, 0.5, 0.015);
}

TEST(RandomStreams, AStreamDependsOnSeedAndNameAlone) {
  const RandomStreams streams(7);
  RandomStream first = streams.stream("lengths");
  RandomStream other = streams.stream("arrivals");
  (void)other();
  RandomStream again = streams.stream("lengths");
  EXPECT_EQ(first(), again());
  EXPECT_NE(streams.stream("lengths")(), streams.stream("arrivals")());
  EXPECT_NE(streams.stream("lengths")(), RandomStreams(8).stream("lengths")());
}

}  // namespace
}  // namespace foretoken

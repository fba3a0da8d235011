// What a metrics server tells of a replica that it asks every 15 s.

#include "sim/serving/replica_scrapes.hpp"

#include <gtest/gtest.h>

namespace foretoken::replica_scrapes_test {
namespace {

ReplicaScrape scrape(double at, double kv_share, std::int64_t queued, std::int64_t requests = 0) {
  ReplicaScrape one;
  one.at = Seconds(at);
  one.kv_share = kv_share;
  one.queued = queued;
  one.served = {requests, 100.0 * static_cast<double>(requests),
                20.0 * static_cast<double>(requests)};
  return one;
}

TEST(ReplicaScrapes, TellTheMostOfAMinute) {
  ReplicaScrapes scrapes(Seconds(60));
  scrapes.add(scrape(15, 0.9, 3));
  scrapes.add(scrape(30, 0.2, 7));
  scrapes.add(scrape(75, 0.4, 1));
  const ReplicaMetrics at_70 = scrapes.seen(Seconds(70), Seconds(60));
  EXPECT_EQ(at_70.kv_share, 0.9);
  EXPECT_EQ(at_70.queued, 7);
  EXPECT_EQ(scrapes.seen(Seconds(75), Seconds(60)).kv_share, 0.4);  // a minute ago is too long ago
  EXPECT_TRUE(scrapes.any(Seconds(134), Seconds(60)));
  EXPECT_FALSE(scrapes.any(Seconds(135), Seconds(60)));
  scrapes.clear();
  EXPECT_FALSE(scrapes.any(Seconds(76), Seconds(60)));
}

// 300 s before 320 there were ten, then 30 more of which each had 100 and 20 tokens.
TEST(ReplicaScrapes, TellTheMeanRequestOfFiveMinutes) {
  ReplicaScrapes scrapes(Seconds(60));
  scrapes.add(scrape(15, 0, 0, 10));
  EXPECT_EQ(scrapes.seen(Seconds(15), Seconds(60)).prompt_tokens, 0);  // one scrape tells no rate
  ReplicaScrape later = scrape(30, 0, 0, 40);
  later.served.prompt_tokens = 100 * 10 + 30 * 200;
  later.prefixes = {.tokens_asked = 1000, .tokens_found = 250};
  scrapes.add(later);
  const ReplicaMetrics seen = scrapes.seen(Seconds(30), Seconds(60));
  EXPECT_EQ(seen.prompt_tokens, 200);
  EXPECT_EQ(seen.output_tokens, 20);
  EXPECT_EQ(seen.prefix_hits, 0.25);
  scrapes.add(scrape(320, 0, 0, 40));
  EXPECT_EQ(scrapes.seen(Seconds(320), Seconds(60)).prompt_tokens, 0);  // since 30, none
}

}  // namespace
}  // namespace foretoken::replica_scrapes_test

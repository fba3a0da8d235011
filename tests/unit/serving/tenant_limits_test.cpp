// Limits of tenants: buckets by hand, and against a bucket that is emptied drop by drop.

#include "sim/serving/tenant_limits.hpp"

#include <random>

#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken::tenant_limits_test {
namespace {

Request request(int tenant, std::int64_t prompt, std::int64_t output) {
  Request made;
  made.tenant = tenant;
  made.prompt_tokens = prompt;
  made.output_tokens = output;
  return made;
}

// One a second, two at once after a pause. At 1.5 s half a request has come together, at 2 s one.
TEST(TenantLimits, RequestsComeAtTheRateAndTheBurst) {
  TenantLimits limits(
      {{.tenant = "web", .request_rate = PerSecond(1), .token_rate = {}, .burst = Seconds(2)}},
      {"web", "batch"});
  const auto at = [&](double date) { return limits.admit(request(0, 9, 9), Seconds(date)); };
  EXPECT_TRUE(at(0));
  EXPECT_TRUE(at(0));
  EXPECT_FALSE(at(0));
  EXPECT_TRUE(at(1));
  EXPECT_FALSE(at(1.5));
  EXPECT_TRUE(at(2));
  EXPECT_TRUE(at(9));
  EXPECT_TRUE(at(9));
  EXPECT_FALSE(at(9));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limits.admit(request(1, 9, 9), Seconds(9)));
}

// 100 tokens a second for a second. 120 are more than it ever holds: let in when it is full, and 20
// are owed: it holds 30 half a second later.
TEST(TenantLimits, TokensCountPromptAndAnswer) {
  TenantLimits limits(
      {{.tenant = "web", .request_rate = {}, .token_rate = PerSecond(100), .burst = Seconds(1)}},
      {"web"});
  EXPECT_TRUE(limits.admit(request(0, 100, 20), Seconds(0)));
  EXPECT_FALSE(limits.admit(request(0, 20, 11), Seconds(0.5)));
  EXPECT_TRUE(limits.admit(request(0, 20, 10), Seconds(0.5)));
  EXPECT_FALSE(limits.admit(request(0, 100, 20), Seconds(1.25)));
  EXPECT_TRUE(limits.admit(request(0, 100, 20), Seconds(1.5)));
}

// Whoever is refused by one bucket takes nothing of the other.
TEST(TenantLimits, ARefusedRequestCostsNothing) {
  TenantLimits limits({{.tenant = "web",
                        .request_rate = PerSecond(1),
                        .token_rate = PerSecond(10),
                        .burst = Seconds(2)}},
                      {"web"});
  EXPECT_TRUE(limits.admit(request(0, 10, 5), Seconds(0)));
  EXPECT_FALSE(limits.admit(request(0, 5, 1), Seconds(0)));
  EXPECT_TRUE(limits.admit(request(0, 4, 1), Seconds(0)));
}

// Dates in 64ths of a second, so that drops of 1 / 64 are exact.
TEST(TenantLimits, AgreesWithABucketFilledDropByDrop) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<std::int64_t>(random() % most); };
    const std::int64_t rate = 1 + draw(50), burst = 1 + draw(4);
    TenantLimits limits({{.tenant = "a",
                          .request_rate = {},
                          .token_rate = PerSecond(static_cast<double>(rate)),
                          .burst = Seconds(static_cast<double>(burst))}},
                        {"a"});
    const std::int64_t capacity = 64 * rate * burst;  // in 64ths of a token
    std::int64_t level = capacity, now = 0;
    for (int i = 0; i < 200; ++i) {
      for (std::int64_t ticks = draw(40); ticks > 0; --ticks, ++now) {
        level = std::min(capacity, level + rate);
      }
      const std::int64_t tokens = 1 + draw(60);
      const bool is_in = level >= std::min(64 * tokens, capacity);
      if (is_in) level -= 64 * tokens;
      ASSERT_EQ(limits.admit(request(0, tokens, 0), Seconds(static_cast<double>(now) / 64)), is_in)
          << "seed " << seed << " request " << i;
    }
  }
}

using TenantLimitsTest = FleetTest;

TEST_F(TenantLimitsTest, TheGatewayRejectsWhatIsBeyond) {
  for (int i = 0; i < 3; ++i) add(0, 50, 2);
  add(0, 50, 2).tenant = 1;
  build(1);
  front_end->limit(TenantLimits(
      {{.tenant = "a", .request_rate = PerSecond(0.001), .token_rate = {}, .burst = Seconds(2000)}},
      {"a", "b"}));
  run();
  EXPECT_EQ(record(1).status, RequestStatus::completed);
  EXPECT_EQ(record(2).status, RequestStatus::rejected);
  EXPECT_EQ(record(2).reason, FailureReason::tenant_limit);
  EXPECT_EQ(record(2).ended, Seconds(0.0));
  EXPECT_EQ(record(3).status, RequestStatus::completed);
  ASSERT_EQ(source.finished.size(), 4U);  // whoever asks in a closed loop hears of it
}

}  // namespace
}  // namespace foretoken::tenant_limits_test

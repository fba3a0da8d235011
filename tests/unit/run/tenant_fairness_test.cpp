// Jain's index and max-min shares, by hand and against shares that are dealt out crumb by crumb.

#include "sim/run/tenant_fairness.hpp"

#include <gmock/gmock.h>

#include <random>

namespace foretoken::tenant_fairness_test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Optional;

TEST(TenantFairness, JainsIndexIsOneOfEqualsAndAnNthWhereOneHasAll) {
  EXPECT_DOUBLE_EQ(jain_index({3, 3, 3}), 1.0);
  EXPECT_DOUBLE_EQ(jain_index({5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({1, 3}), 16.0 / 20.0);
  EXPECT_DOUBLE_EQ(jain_index({0, 0}), 1.0);
}

TEST(TenantFairness, WhatOneDoesNotWantIsTheOthers) {
  EXPECT_THAT(max_min_shares(10, {8, 2, 8}, {1, 1, 1}), ElementsAre(4, 2, 4));
  EXPECT_THAT(max_min_shares(14, {20, 2, 20}, {1, 1, 2}), ElementsAre(4, 2, 8));
  EXPECT_THAT(max_min_shares(6, {1, 2, 3}, {1, 1, 1}), ElementsAre(1, 2, 3));
}

TEST(TenantFairness, SharesAreThoseOfDealingOutCrumbs) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<double>(1 + random() % most); };
    std::vector<double> demands, weights;
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      demands.push_back(draw(50));
      weights.push_back(draw(3));
      sum += demands.back();
    }
    const double total = sum * draw(10) / 10;
    constexpr double crumb = 1e-3;
    std::vector<double> dealt(4);
    for (double left = total; left > crumb;) {
      for (std::size_t i = 0; i < 4; ++i) {
        const double more = std::min(crumb * weights[i], demands[i] - dealt[i]);
        dealt[i] += more;
        left -= more;
      }
    }
    const std::vector<double> shares = max_min_shares(total, demands, weights);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(shares[i], dealt[i], 0.02) << "seed " << seed;
  }
}

/// Its first token comes at `first`, the others evenly until `end`.
RequestRecord record(int tenant, double first, double end, std::int64_t output) {
  RequestRecord made;
  made.tenant = tenant;
  made.arrival = Seconds(0.5);
  made.first_token = Seconds(first);
  made.finished = made.ended = Seconds(end);
  made.prompt_tokens = 100;
  made.output_tokens = made.output_asked = output;
  made.status = RequestStatus::completed;
  return made;
}

// Until 10 s: web asks for 2 x (100 + 2 x 50) = 400 and gets it. Batch asks for 3 x 400 = 1,200 and
// gets one request whole and of another the prompt: 400 + 100 + 2 = 502. All that was served, 902,
// dealt out evenly: 400 and 502. So it is fair, though batch got less than half of what it asked.
TEST(TenantFairness, IsAboutWhatThereWasToBeHad) {
  Timeline timeline{Seconds()};
  timeline.record_request(record(0, 1, 2, 50));
  timeline.record_request(record(0, 3, 4, 50));
  timeline.record_request(record(1, 5, 9, 150));
  timeline.record_request(record(1, 10, 20, 150));
  RequestRecord refused = record(1, -1, 11, 150);
  refused.first_token = refused.finished = Seconds(-1.0);
  refused.output_tokens = 0;
  refused.status = RequestStatus::rejected;
  timeline.record_request(refused);
  const Report::Steady steady{SteadyBasis::arrivals, 0.0, 10.0, true};
  const std::vector<Tenant> tenants = {{"web"}, {"batch"}};
  EXPECT_THAT(tenant_fairness(timeline, tenants, steady), Optional(DoubleEq(1.0)));
  // With weights 1 : 3 web's part of 902 is 225.5 and batch's 676.5.
  const double web = 400 / 225.5, batch = 502 / 676.5;
  const double index = (web + batch) * (web + batch) / (2 * (web * web + batch * batch));
  const std::vector<Tenant> weighted = {{"web", 1.0}, {"batch", 3.0}};
  EXPECT_NEAR(*tenant_fairness(timeline, weighted, steady), index, 1e-12);
  EXPECT_FALSE(tenant_fairness(timeline, {{"web"}}, steady).has_value());
}

}  // namespace
}  // namespace foretoken::tenant_fairness_test

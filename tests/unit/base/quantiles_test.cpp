#include "sim/base/quantiles.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// Published tables of both distributions.
TEST(Quantiles, AreThoseOfPublishedTables) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(normal_quantile(0.975, 10, 2), 13.919928, 1e-6);
  EXPECT_NEAR(students_t_quantile(0.975, 4), 2.776, 1e-3);
  EXPECT_NEAR(students_t_quantile(0.025, 4), -2.776, 1e-3);
  EXPECT_NEAR(students_t_quantile(0.95, 1), 6.314, 1e-3);
}

}  // namespace
}  // namespace foretoken

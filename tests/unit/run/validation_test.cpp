// What a recorded run's comparison says of requests that the simulation lost.
#include "sim/run/validation.hpp"

#include <gmock/gmock.h>

namespace foretoken::validation_test {
namespace {

TEST(Validation, SaysWhyRequestsDidNotFinish) {
  ServedRun measured;
  measured.requests.resize(2);
  Report simulated;
  simulated.rows.resize(2);
  simulated.rows[0].ttft_ms = simulated.rows[0].e2e_ms = 5.0;
  EXPECT_THAT(compare_with_recorded(measured, simulated).notes,
              testing::ElementsAre("1 of 2 requests did not finish in the simulation"));
  simulated.requests.failed_by = {{"context_length", 1}};
  EXPECT_THAT(compare_with_recorded(measured, simulated).notes,
              testing::ElementsAre("1 of 2 requests did not finish in the simulation (1 failed: "
                                   "prompt + output exceed the context)"));
}

}  // namespace
}  // namespace foretoken::validation_test

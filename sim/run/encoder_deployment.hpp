// How images and audio are encoded in a scenario: the limits of its engine. Internal to sim/run.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/serving/encoder_pricer.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

/// Of each attention rank; zeroes where requests have neither.
EncoderSettings encoder_limits(const Scenario& scenario);

/// Throws ConfigError if requests have either and `scheduler` knows nothing of them.
void expect_media_scheduler(const Scenario& scenario, Scheduler& scheduler);

}  // namespace foretoken

// How images are encoded in a scenario: the limits of its engine. Internal to sim/run.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/serving/encoder_pricer.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

/// Of each attention rank; zeroes where requests have no images.
EncoderSettings encoder_limits(const Scenario& scenario);

/// Throws ConfigError if requests have images and `scheduler` knows nothing of them.
void expect_image_scheduler(const Scenario& scenario, Scheduler& scheduler);

}  // namespace foretoken

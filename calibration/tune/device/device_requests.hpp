// What the process beside the GPU is asked, as lines of JSON (device_loop.hpp): a problem's buffers
// with its reference, and candidates' launches with every expression worked out.
#pragma once

#include <string>
#include <string_view>

#include "calibration/tune/evaluation.hpp"
#include "sim/base/value.hpp"

namespace foretoken::tune {

/// "prepare": all shapes' buffers, and the reference compiled to `cubin`. `sms`: see Launch.
/// Throws ConfigError for sizes that are no whole numbers.
Value prepare_request(const Problem& problem, const std::string& cubin, int sms);
/// "evaluate" or "count": a compiled candidate's launches on every shape. Throws as above.
Value launch_request(std::string_view operation, const Problem& problem, const Candidate& candidate,
                     const std::string& cubin, int sms);

}  // namespace foretoken::tune

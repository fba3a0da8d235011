// How long requests to an OpenAI endpoint are, from what was asked or from what was answered.
#pragma once

#include "sim/base/value.hpp"
#include "workloads/requests/trace.hpp"

namespace foretoken {

/// From a request's body: its prompt's tokens (an estimate where it is text) and the most that it
/// lets the answer have, and the images of its messages beside. Without arrival. Throws BadLine.
TraceRow asked_lengths(const Value& body);

/// From `usage` of an answer. Throws BadLine, and FailedRequest if nothing was generated.
TraceRow answered_lengths(const Value& usage);

}  // namespace foretoken

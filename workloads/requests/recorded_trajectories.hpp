// Trajectories as a trace recorded them: conversations and agents whose calls wait for each other.
// The first call of each comes when arrivals say, at its recorded time or any other; the rest come
// as long after the answers that they waited for as they did then. So a slower server is asked more
// slowly, as it would be.
#pragma once

#include <memory>

#include "workloads/requests/request.hpp"

namespace foretoken {

struct Traffic;

/// A fresh source of `traffic`, whose trace has trajectories. Arrivals that are not the trace's
/// play them one after the other, again from the beginning when all were played. Streams: those of
/// trajectories and of RequestDraws.
std::unique_ptr<RequestSource> start_recorded(const Traffic& traffic, const RandomStreams& random);

}  // namespace foretoken

#include "sim/processes/forked_jobs.hpp"

#include <algorithm>
#include <thread>

#include "sim/base/error.hpp"

namespace foretoken {

std::size_t slots_or_processors(std::size_t slots) {
  return slots > 0 ? slots : std::max(1U, std::thread::hardware_concurrency());
}

std::optional<ChildProcesses::Ended> wait_for_child(ChildProcesses& children,
                                                    std::optional<double> period_s,
                                                    const std::function<void()>& tick) {
  FORETOKEN_CHECK(children.running() > 0, "nothing runs that could finish");
  for (;;) {
    if (StopSignal::asked()) return std::nullopt;
    if (auto ended = children.poll(period_s)) return ended;
    if (StopSignal::asked()) return std::nullopt;
    if (tick) tick();
  }
}

}  // namespace foretoken

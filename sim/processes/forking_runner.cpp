#include "sim/processes/forking_runner.hpp"

#include <algorithm>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/planner/row_store.hpp"

namespace foretoken {

ForkingRunner::ForkingRunner(std::size_t slots, std::function<Value(const RunRequest&)> run)
    : slots_(slots > 0 ? slots : std::max(1U, std::thread::hardware_concurrency())),
      run_(std::move(run)) {}

void ForkingRunner::start(std::size_t ticket, const RunRequest& request) {
  children_.start(ticket, [&](int pipe) {
    const RunOutcome outcome = outcome_of([&] { return run_(request); });
    return write_all(pipe, to_json(outcome_value(outcome), -1)) ? 0 : 1;
  });
}

std::optional<ScenarioRunner::Finished> ForkingRunner::wait() {
  FORETOKEN_CHECK(children_.running() > 0, "nothing runs that could finish");
  for (;;) {
    if (StopSignal::asked()) return std::nullopt;
    auto finished = children_.poll(period_s());
    // A signal to all processes of a group ends runs too; that is no failure of theirs.
    const bool failed = finished && finished->outcome.status == RunStatus::failed;
    if (StopSignal::asked() && (!finished || failed)) return std::nullopt;
    if (finished) return finished;
    tick();
  }
}

}  // namespace foretoken

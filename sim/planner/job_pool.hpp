// The one loop around jobs that end in any order: as many at once as there are slots for, the next
// as soon as one is over. `Jobs` is a ScenarioRunner or ForkedJobs: slots(), start() and wait().
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace foretoken {

/// Starts what `next()` gives (a ticket and what start() takes; nullopt: nothing for now) and hands
/// what ends to `done()`, after which `next()` is asked again. Ends when nothing runs and there is
/// nothing to start. false: the user asked to stop; what runs is abandoned.
template <class Jobs, class Next, class Done>
bool run_jobs(Jobs& jobs, const Next& next, const Done& done) {
  for (std::size_t running = 0;; --running) {
    for (; running < jobs.slots(); ++running) {
      auto job = next();
      if (!job) break;
      jobs.start(job->first, job->second);
    }
    if (running == 0) return true;
    auto finished = jobs.wait();
    if (!finished) return false;
    done(std::move(*finished));
  }
}

/// The same of `count` jobs, in their order; `job(i)` is what start() takes.
template <class Jobs, class Job, class Done>
bool run_all(Jobs& jobs, std::size_t count, const Job& job, const Done& done) {
  std::size_t started = 0;
  const auto next = [&]() -> std::optional<std::pair<std::size_t, decltype(job(started))>> {
    if (started == count) return std::nullopt;
    const std::size_t i = started++;
    return std::pair<std::size_t, decltype(job(i))>(i, job(i));
  };
  return run_jobs(jobs, next, done);
}

}  // namespace foretoken

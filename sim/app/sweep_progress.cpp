#include "sim/app/sweep_progress.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "sim/report/number_text.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {

void SweepProgress::update(const RunStore::Counts& counts) {
  if (!enabled_) return;
  if (!finished_before_) finished_before_ = counts.finished;
  if (Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  std::string line =
      fmt::format("{} of {} runs, {} in progress", counts.finished, counts.wanted, counts.leased);
  const std::size_t done = counts.finished - *finished_before_;
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - began_).count();
  if (done > 0 && elapsed_s > 1) {
    const auto left = static_cast<double>(counts.wanted - counts.finished);
    line += fmt::format(", about {} left", duration(elapsed_s / static_cast<double>(done) * left));
  }
  rewrite_line("  " + line);
  drawn_ = true;
}

void SweepProgress::clear() {
  if (!drawn_) return;
  rewrite_line("");
  drawn_ = false;
}

}  // namespace foretoken

#include "sim/app/progress_bar.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "sim/app/terminal.hpp"

namespace foretoken {

void ProgressBar::update(const Progress& progress) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  constexpr int cells = 30;
  std::string bar;
  if (progress.expected && *progress.expected > 0) {
    const double share =
        static_cast<double>(progress.ended) / static_cast<double>(*progress.expected);
    for (int i = 0; i < cells; ++i) bar += i < share * cells ? "█" : "░";
    bar += fmt::format(" {:3.0f} %  {} of {} requests", share * 100.0, progress.ended,
                       *progress.expected);
  } else {
    bar = fmt::format("{} requests", progress.ended);
  }
  rewrite_line(fmt::format("  {}, {:.0f} s simulated", bar, progress.now.value()));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  rewrite_line("");
  drawn_ = false;
}

}  // namespace foretoken

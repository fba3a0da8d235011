#include "sim/app/progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "sim/terminal/terminal.hpp"

namespace foretoken {

void ProgressBar::update(const Progress& progress) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  std::string count = fmt::format("{} requests", progress.ended);
  double share = 0.0;
  const bool is_share_known = progress.expected && *progress.expected > 0;
  if (is_share_known) {
    share = static_cast<double>(progress.ended) / static_cast<double>(*progress.expected);
    count = fmt::format("{:3.0f} %  {} of {} requests", share * 100.0, progress.ended,
                        *progress.expected);
  }
  const std::string text = fmt::format("{}, {:.0f} s simulated", count, progress.now.value());
  std::string bar;
  if (is_share_known) {
    // The bar gives way to the text: two columns before it, one behind it, and the last stays free.
    const int cells = std::min(30, terminal_width(stderr) - 4 - static_cast<int>(text.size()));
    for (int i = 0; i < cells; ++i) bar += i < share * cells ? "█" : "░";
    if (!bar.empty()) bar += ' ';
  }
  rewrite_line(fmt::format("  {}{}", bar, text));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  rewrite_line("");
  drawn_ = false;
}

}  // namespace foretoken

#include "sim/app/plan_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number_text.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {

double PlanProgress::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

void PlanProgress::update(const PlanStatus& status) {
  status_ = status;
  if (!open_at_first_ && status.choices > 0) open_at_first_ = status.open;
  draw();
}

void PlanProgress::update(std::size_t runs) {
  status_.runs = runs;
  draw();
}

void PlanProgress::tick() {
  draw();
  if (!limit_ || elapsed_s() < limit_->value()) return;
  is_time_up_ = true;
  throw PlanStopped();
}

std::string PlanProgress::line() const {
  std::string text = counted(static_cast<std::int64_t>(status_.runs), "run");
  if (status_.choices > 0 && status_.phase == PlanStatus::Phase::search) {
    const std::size_t done = *open_at_first_ - std::min(*open_at_first_, status_.open);
    text +=
        fmt::format(", {} of {} choices decided", status_.choices - status_.open, status_.choices);
    if (done > 0 && elapsed_s() > 1) {
      const double left =
          elapsed_s() / static_cast<double>(done) * static_cast<double>(status_.open);
      text += fmt::format(", about {} left", duration(left));
    }
  }
  if (status_.phase == PlanStatus::Phase::whole) text += ", the cheapest under all of the traffic";
  if (status_.phase == PlanStatus::Phase::closely) text += ", intervals of the best";
  if (!status_.answer.empty()) {
    // The price first: a narrow terminal cuts the line.
    text +=
        fmt::format(" · so far ${}/h: {}", grouped(status_.dollars_per_hour, 2), status_.answer);
  }
  return text;
}

void PlanProgress::draw() {
  if (!is_shown_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(200);
  rewrite_line(line());
  is_drawn_ = true;
}

void PlanProgress::clear() {
  if (!is_drawn_) return;
  rewrite_line("");
  is_drawn_ = false;
}

}  // namespace foretoken

// What ranks tell each other, as JSON texts. Both ends are ours: whatever does not read is a bug.
#pragma once

#include <string>
#include <utility>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// How often both ends look for finished runs; a run takes tens of milliseconds at least.
inline constexpr double look_s = 0.005;
/// How often a rank says that it lives within the time after which silence means that it does not.
inline constexpr int beats_a_silence = 4;

/// A rank's first message.
struct RankReport {
  std::string host;
  std::size_t slots = 0;
  std::string agreement;
  std::string problem;  // why it can run nothing; "" = it can
};

std::string report_text(const RankReport& report);
RankReport read_rank_report(const std::string& text);

std::string run_text(std::size_t ticket, const RunRequest& request);
std::pair<std::size_t, RunRequest> read_run(const std::string& text);

std::string done_text(const Finished<Report>& finished);
Finished<Report> read_done(const std::string& text);

}  // namespace foretoken

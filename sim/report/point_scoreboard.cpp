// The scoreboard of whole servers, a page in Markdown: one table a question (all of it, which file,
// which model and engine, which GPU, how many users, how it is served), the same columns in each.
// Points that settings were chosen on are named and counted in no table but the first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "sim/report/number_text.hpp"
#include "sim/report/point_statistics.hpp"

namespace foretoken {
namespace {

std::string whole_percent(double share) { return fmt::format("{:.0f}", 100 * share); }

std::string within_text(const std::optional<double>& share) {
  return share ? whole_percent(*share) : "-";
}

std::string score_row(const std::string& name, const ComparedPoints& points) {
  const PointStatistics found = statistics_of(points);
  const auto cells = [](const LatencyErrors& errors) {
    return fmt::format("{} | {} | {:+.0f} | {}", whole_percent(errors.median),
                       whole_percent(errors.mean), 100 * errors.bias, within_text(errors.within));
  };
  return fmt::format("| {} | {} | {} | {} |\n", name, grouped(found.points), cells(found.tpot),
                     cells(found.ttft));
}

std::string score_header(const std::string& first) {
  return fmt::format(
      "| {} | points | TPOT median | mean | bias | within | TTFT median | mean | bias | within |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      first);
}

using Wanted = std::function<bool(const ComparedPoint&)>;

ComparedPoints simulated(const PointReport& report, const Wanted& is_wanted) {
  ComparedPoints points;
  for (const ComparedPoint& point : report.points)
    if (point.failure.empty() && is_wanted(point)) points.push_back(&point);
  return points;
}

bool is_test_point(const ComparedPoint& point) { return part_name(point) == "test"; }

std::string table_by(const PointReport& report, const std::string& title,
                     const std::function<std::string(const ComparedPoint&)>& name_of) {
  std::map<std::string, ComparedPoints> groups;
  for (const ComparedPoint* point : simulated(report, is_test_point))
    groups[name_of(*point)].push_back(point);
  std::string text = score_header(title);
  for (const auto& [name, points] : groups) text += score_row(name, points);
  return text + "\n";
}

/// "vllm" of "vllm 0.18.0".
std::string product(const ComparedPoint& point) {
  return point.engine.substr(0, point.engine.find(' '));
}

std::string users_text(const ComparedPoint& point) {
  constexpr auto most = std::to_array<int>({4, 16, 64, 256});
  int from = 1;
  for (const int to : most) {
    if (point.users <= to) return fmt::format("{:>4} to {}", from, to);
    from = to + 1;
  }
  return fmt::format("{:>4} and more", from);
}

std::string score_totals(const PointReport& report) {
  const auto of = [&](const char* name, const Wanted& is_wanted) {
    const ComparedPoints points = simulated(report, is_wanted);
    return points.empty() ? "" : score_row(name, points);
  };
  return score_header("part") + of("test", is_test_point) +
         of("test and unclear",
            [](const ComparedPoint& point) { return part_name(point) != "calibration"; }) +
         of("unclear", [](const ComparedPoint& point) { return point.is_unclear; }) +
         of("calibration",
            [](const ComparedPoint& point) { return part_name(point) == "calibration"; }) +
         "\n";
}

std::string left_out_text(const PointReport& report) {
  std::string text;
  for (const auto& [reason, rows] : report.failures())
    text += fmt::format("- {} not simulated: {}\n", counted(rows.count, "point"), reason);
  for (const auto& [reason, rows] : report.reasons_left_out())
    text += fmt::format("- {} excluded: {}\n", counted(rows.count, "row"), reason);
  return text.empty() ? "Nothing.\n" : text;
}

constexpr const char* introduction =
    "# Whole servers: the scoreboard\n"
    "Servers under a fixed number of users, measured and simulated. Written by\n"
    "`foretoken validate --silicon FILE ... --scoreboard FILE`; assumptions about the servers are "
    "in\n"
    "`examples/servers/public.toml`. Errors in per cent: median and mean absolute error, median "
    "signed\n"
    "error (bias), and the share of measured values within the 90 % interval.\n"
    "**Calibration** points were used to choose settings; **test** points were not.\n"
    "**Unclear** points are rows of one configuration whose TPOT differs by more than 1.5x, of "
    "models\n"
    "that can draft their own tokens: some did, but no row says which.\n"
    "\n";

constexpr const char* peers =
    "## Other simulators\n"
    "Mean errors that two other simulators publish on InferenceX's database:\n"
    "\n"
    "| | points | TPOT mean | TTFT mean |\n"
    "|---|--:|--:|--:|\n"
    "| AISimulate (its daily campaign: 7 models, H100 to GB300) | 725 | 28 | 77 |\n"
    "| BLIS, vLLM, where the configuration was measured | - | 12 | 31 |\n"
    "| BLIS, vLLM, where it was not | - | 18 | 23 |\n";

constexpr const char* difference =
    "\n"
    "The rows differ: theirs are newer and include GB300; ours exclude the rows used to choose\n"
    "settings and include servers that InferenceX did not measure. Rows where a queue built up "
    "only in\n"
    "the measurement or only in the simulation dominate the means.\n"
    "\n";

}  // namespace

std::string point_scoreboard(const PointReport& report) {
  const ComparedPoints test = simulated(report, is_test_point);
  const PointStatistics found = statistics_of(test);
  std::string text = introduction + score_totals(report);
  text += peers;
  text += fmt::format("| Foretoken, test points | {} | {} | {} |\n", grouped(found.points),
                      whole_percent(found.tpot.mean), whole_percent(found.ttft.mean));
  text += difference;
  text +=
      "## By table\n" + table_by(report, "table", [](const auto& point) { return point.table; });
  text += "## By model and engine\n" + table_by(report, "model, engine", [](const auto& point) {
            return point.model + ", " + product(point);
          });
  text += "## By GPU\n" + table_by(report, "GPU", [](const auto& point) { return point.gpu; });
  text += "## By users\n" + table_by(report, "users", users_text);
  text += "## By kind of server\n" + table_by(report, "server", [](const auto& point) {
            return point.is_disaggregated ? std::string("prefill and decode disaggregated")
                                          : std::string("one pool");
          });
  return text + "## Not in these tables\n" + left_out_text(report);
}

}  // namespace foretoken

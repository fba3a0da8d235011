// What a comparison and a sweep say of runs side by side in the same words: what is best by each
// goal, which of them lost requests, and why others have no figures.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/planner/goals.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

/// "lowest TTFT p99", the place of what has it among what was compared, and of those that nobody
/// can tell from it.
struct BestRun {
  const Figure* figure = nullptr;
  std::size_t place = 0;
  std::vector<std::size_t> ties = {};

  [[nodiscard]] std::string goal() const { return figure->goal_text(); }
  [[nodiscard]] bool has(std::size_t other) const {
    return other == place || std::ranges::find(ties, other) != ties.end();
  }
};

/// Goals that have columns of their own because somebody named them.
std::vector<const Figure*> asked_figures(const std::vector<BestRun>& best);
/// Goals that `place` is best by, "lowest TTFT p99; highest throughput".
std::string goals_of(const std::vector<BestRun>& best, std::size_t place, const char* separator,
                     bool with_ties);
/// For each of these a star.
std::string stars_of(const std::vector<BestRun>& best, std::size_t place, bool with_ties,
                     const Ink& ink);
/// For JSON; what places and ties are called there.
ValueArray best_value(const std::vector<BestRun>& best, const char* place, const char* ties);

/// What the figures of a table of runs are in.
std::string units_note(const ResultTable& table);
/// What `mark` stands before, `more` about it, or `ranges` where the table had no room for it.
std::string prices_note(const ResultTable::Fitted& table, const char* mark, const char* more,
                        const std::string& ranges);

/// A reason, and all that it holds for.
template <class Member>
struct ReasonGroup {
  std::string reason;
  std::vector<Member> members;
};
template <class Member>
void add_reason(std::vector<ReasonGroup<Member>>& groups, const std::string& reason,
                Member member) {
  auto group = std::ranges::find(groups, reason, &ReasonGroup<Member>::reason);
  if (group == groups.end()) group = groups.insert(group, {reason, {}});
  group->members.push_back(std::move(member));
}
/// A heading and a line each; "" without any. `list` joins members.
template <class Member, class List>
std::string reasons_text(std::string_view title, const std::vector<ReasonGroup<Member>>& groups,
                         const List& list, const Ink& ink) {
  std::string text = groups.empty() ? "" : fmt::format("\n  {}\n", ink.strong(title));
  for (const auto& [reason, members] : groups)
    text += fmt::format("  {} {}: {}\n", ink.bad("✗"), list(members), reason);
  return text;
}

/// Runs that look better than they are, because they served only a part of the traffic: the first
/// `listed_max` losses, and how many more there are.
template <class Runs, class NameOf>
std::string losses_text(const Runs& runs, const NameOf& name_of, std::size_t listed_max,
                        const Ink& ink) {
  std::string text;
  std::size_t count = 0;
  for (const auto& run : runs) {
    if (run.report() == nullptr) continue;
    for (const std::string& loss : losses(*run.report())) {
      if (++count <= listed_max)
        text += fmt::format("  {} {}: {}\n", ink.warning("!"), name_of(run), loss);
    }
  }
  if (count > listed_max)
    text += fmt::format("  {} and {} more\n", ink.warning("!"), count - listed_max);
  return text;
}

}  // namespace foretoken

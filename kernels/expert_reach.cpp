// Of experts that are drawn evenly, so many groups hold some with a probability that counting
// gives; a limit cuts off what is above it. Where so many groups hold a token's experts, each set
// of them that leaves none of the groups empty is as likely.
#include "kernels/expert_reach.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Less than this of an expert is rounding.
constexpr double rounding = 1e-9;

/// Ways to pick k of n; n need not be a whole number.
double choose(double n, int k) {
  double ways = 1;
  for (int i = 0; i < k; ++i) ways *= std::max(0.0, n - i) / (i + 1);
  return ways;
}

/// Ways to pick a token's experts from `groups` groups so that each has one, leaving out `barred`
/// experts of one of them (by inclusion and exclusion).
double ways_to_fill(int groups, double size, int topk, double barred) {
  double ways = 0;
  for (int empty = 0; empty < groups; ++empty) {
    const double open = (groups - empty) * size;
    const double with =
        choose(groups - 1, empty) * (choose(open - barred, topk) - choose(open - size, topk));
    ways += empty % 2 == 0 ? with : -with;
  }
  return ways;
}

/// That a set has none of a token's experts, if these are any.
double missed_by_any(int experts, int topk, double held) {
  double missed = 1;
  for (int i = 0; i < topk; ++i) missed *= std::max(0.0, 1 - held / (experts - i));
  return missed;
}

/// Likewise, if they are in `filled` of the groups.
double missed_by_groups(int filled, int groups, double size, int topk, double held) {
  const int whole = static_cast<int>(held / size + rounding);
  const double part = held - whole * size;
  double missed = 1;  // none of those that the set holds whole
  for (int i = 0; i < whole; ++i)
    missed *= std::max(0.0, static_cast<double>(groups - filled - i)) / (groups - i);
  if (part < rounding || missed == 0) return missed;
  const double of_part = static_cast<double>(filled) / (groups - whole);
  const double passed_by =
      ways_to_fill(filled, size, topk, part) / ways_to_fill(filled, size, topk, 0);
  return missed * (1 - of_part * (1 - passed_by));
}

}  // namespace

std::string groups_mistake(int experts, int topk, ExpertGroups groups) {
  if (experts % groups.count != 0)
    return fmt::format("cannot be: {} groups do not divide {} experts", groups.count, experts);
  if (groups.chosen > groups.count) return fmt::format("exceeds the {} groups", groups.count);
  const int offered = experts / groups.count * groups.chosen;
  return topk <= offered ? ""
                         : fmt::format("offers {} experts, and a token takes {}", offered, topk);
}

double sets_visited(int experts, int topk, ExpertGroups groups, double sets) {
  const double held = experts / sets;
  if (!groups.are_limiting()) return sets * (1 - missed_by_any(experts, topk, held));
  const double size = static_cast<double>(experts) / groups.count;
  double missed = 0, all = 0;
  for (int filled = 1; filled <= std::min(groups.count, topk); ++filled) {
    const double ways = choose(groups.count, filled) * ways_to_fill(filled, size, topk, 0);
    if (ways <= 0) continue;  // fewer experts than a token takes
    all += ways;
    missed +=
        ways * missed_by_groups(std::min(filled, groups.chosen), groups.count, size, topk, held);
  }
  return sets * (1 - missed / all);
}

}  // namespace foretoken

// What a run says of a model's experts: how tokens are routed to them, and how many are woken.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

struct ExpertFigures {
  std::string routing;  // "power_law:1.01"
  std::string source;   // "recorded", or "synthetic": a law, no router's record
  int experts = 0;
  int awake = 0;                    // by the mean batch
  int groups = 1, topk_groups = 1;  // the router limits a token's experts to so many of them
};

/// For a line of the terminal's table.
std::vector<std::string> expert_parts(const ExpertFigures& experts);

}  // namespace foretoken

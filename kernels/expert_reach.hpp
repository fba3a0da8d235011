// How many sets of experts (ranks, nodes) a token visits: what an exchange sends it to. Routers may
// limit a token to the experts of a few groups (DeepSeek-V3 report, section 2.1.2: four of eight),
// so that it travels to few nodes. That changes neither how many tokens an expert gets nor how many
// experts a batch wakes, as groups are as likely as their experts make them; a test draws it.
#pragma once

#include <string>

namespace foretoken {

/// Consecutive experts in `count` equal groups; a token's experts are in `chosen` of them.
struct ExpertGroups {
  int count = 1, chosen = 1;

  [[nodiscard]] bool are_limiting() const { return chosen < count; }
  friend bool operator==(const ExpertGroups&, const ExpertGroups&) = default;
};

/// What is wrong with groups from which a token takes `topk` of all `experts`: "there are 8 groups"
/// behind "topk_groups"; empty if nothing is.
std::string groups_mistake(int experts, int topk, ExpertGroups groups);

/// Expected number of `sets` equal sets of consecutive experts that hold one of a token's `topk` or
/// more. Any experts are as likely; where they would be in more groups than a router chooses, they
/// are in as many as it does, any of them. That is within 1 % of DeepSeek-V3's router with scores
/// that are alike for all experts (a test); DeepEP's combine, four nodes a token, takes 1.27 times
/// as long on eight nodes as on four, where this says 1.29 (tests/accuracy). Sets begin where
/// groups do; for numbers of which neither divides the other that is an approximation.
double sets_visited(int experts, int topk, ExpertGroups groups, double sets);

}  // namespace foretoken

// The commands that run what a plan found, in words.
#include <algorithm>
#include <iterator>

#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/command_text.hpp"

namespace foretoken {

std::vector<std::string> command_words(const Plan& plan, std::size_t candidate,
                                       const std::string& scenario) {
  return command_words(plan.overrides, plan.judged_run(candidate), scenario);
}

std::vector<std::string> command_words(const std::vector<std::string>& overrides,
                                       const Changes& run, const std::string& scenario) {
  std::vector<std::string> assignments;
  for (const std::string& assignment : overrides) {
    if (!assignment.starts_with("plan.")) assignments.push_back(assignment);
  }
  std::ranges::move(texts_of(run), std::back_inserter(assignments));
  std::vector<std::string> words = {"foretoken simulate " + shell_word(scenario)};
  std::ranges::move(set_words(assignments), std::back_inserter(words));
  return words;
}

}  // namespace foretoken

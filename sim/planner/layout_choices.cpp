#include "sim/planner/layout_choices.hpp"

#include <algorithm>

namespace foretoken {

RunRequest Layout::request(const std::vector<LayoutChoice>& choices) const {
  RunRequest request;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    request.overrides.push_back(choices[i].key + "=" + values[i]);
  }
  return request;
}

std::vector<Layout> combinations(const std::vector<LayoutChoice>& choices) {
  std::vector<Layout> layouts = {Layout{}};
  for (const LayoutChoice& choice : choices) {
    if (choice.values.empty()) throw ConfigError({choice.label}, "has no values to compare");
    std::vector<Layout> longer;
    for (const Layout& layout : layouts) {
      for (std::size_t i = 0; i < choice.values.size(); ++i) {
        const std::string& value = choice.values[i];
        if (std::find(choice.values.begin(), choice.values.begin() + static_cast<long>(i), value) !=
            choice.values.begin() + static_cast<long>(i)) {
          throw ConfigError({choice.label}, fmt::format("the value {} is named twice", value));
        }
        longer.push_back(layout);
        longer.back().values.push_back(value);
      }
    }
    layouts = std::move(longer);
  }
  return layouts;
}

}  // namespace foretoken

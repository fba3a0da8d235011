#include "sim/base/json_tree.hpp"

#include <algorithm>
#include <numeric>

namespace foretoken {
namespace {

/// Of equal keys the first's place and the last's value.
void merge_equal_keys(ValueObject& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) -> std::string_view { return members[i].first; });
  std::vector<std::size_t> superfluous;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && members[order[end]].first == members[order[begin]].first) ++end;
    if (end - begin == 1) continue;
    std::swap(members[order[begin]].second, members[order[end - 1]].second);
    superfluous.insert(superfluous.end(), order.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                       order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  if (superfluous.empty()) return;
  std::ranges::sort(superfluous);
  ValueObject kept;
  kept.reserve(members.size() - superfluous.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!std::ranges::binary_search(superfluous, i)) kept.push_back(std::move(members[i]));
  }
  members = std::move(kept);
}

}  // namespace

void JsonTree::add(Value value) {
  value.position = position_;
  if (open_.empty()) {
    root_ = std::move(value);
  } else if (auto* array = std::get_if<ValueArray>(&open_.back().value.data)) {
    array->push_back(std::move(value));
  } else {
    std::get<ValueObject>(open_.back().value.data)
        .emplace_back(std::move(open_.back().key), std::move(value));
  }
}

void JsonTree::close() {
  Value value = std::move(open_.back().value);
  open_.pop_back();
  if (auto* members = std::get_if<ValueObject>(&value.data)) merge_equal_keys(*members);
  add(std::move(value));
}

}  // namespace foretoken

#include "workloads/requests/priorities.hpp"

#include <utility>

namespace foretoken {
namespace {

constexpr std::string_view example =
    "write a list of classes, for example [{ priority = 0, share = 0.2 }, { priority = 1, share = "
    "0.8 }]; lower priorities go first";

}  // namespace

Priorities::Priorities(std::vector<Class> classes) : classes_(std::move(classes)) {
  for (const Class& one : classes_) share_sum_ += one.share;
}

int Priorities::sample(RandomStream& random) const {
  if (classes_.empty()) return 0;
  double left = uniform(random) * share_sum_;
  for (const Class& one : classes_) {
    if (left < one.share) return one.priority;
    left -= one.share;
  }
  return classes_.back().priority;  // rounding took the sum of the shares below the draw
}

void Priorities::describe(Value& workload) const {
  if (classes_.empty()) return;
  ValueArray list;
  for (const Class& one : classes_) {
    list.emplace_back(ValueObject{{"priority", one.priority}, {"share", one.share}});
  }
  workload.set("priorities", std::move(list));
}

Priorities read_priorities(TableReader& workload) {
  const Value* list = workload.find("priorities");
  if (list == nullptr) return {};
  const auto* elements = std::get_if<ValueArray>(&list->data);
  if (elements == nullptr || elements->empty()) {
    workload.fail("priorities",
                  fmt::format("is {}; {}", elements ? "empty" : type_name(*list), example));
    return {};
  }
  std::vector<Priorities::Class> classes;
  for (const Value& element : *elements) {
    if (!element.is_object()) {
      workload.fail("priorities", fmt::format("holds {}; {}", type_name(element), example));
      return {};
    }
    TableReader table(element, workload.diagnostics(), "workload.priorities");
    Priorities::Class one;
    table.require("priority", one.priority);
    table.require("share", one.share);
    table.expect("share", one.share > 0.0 && one.share <= 1e9, "must be above 0, at most 1e9");
    table.finish();
    classes.push_back(one);
  }
  return Priorities(std::move(classes));
}

}  // namespace foretoken

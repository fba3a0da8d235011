#include "workloads/requests/priorities.hpp"

#include <utility>

namespace foretoken {
namespace {

constexpr std::string_view example =
    "write a list of classes, for example [{ priority = 0, share = 0.2 }, { priority = 1, share = "
    "0.8 }]; lower priorities go first";

const Keys<Priorities::Class>& class_keys() {
  using S = Priorities::Class;
  static const Keys<S> keys = {
      {"priority",
       &S::priority,
       {.required = true},
       "Rank of the class: lower numbers go first, with schedulers that look at it."},
      {"share",
       &S::share,
       {.range =
            {.low = 0, .high = 1e9, .has_low = false, .message = "must be above 0, at most 1e9"},
        .required = true},
       "How many of the requests belong to it, relative to the other classes' shares."},
  };
  return keys;
}

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
    list.push_back(class_keys().table(one));
  }
  workload.set("priorities", std::move(list));
}

KeyNote priorities_note() {
  return {"priorities", "list of tables",
          "",           "not set (all equal)",
          "",           "Classes of requests that schedulers may prefer: [[workload.priorities]]."};
}

KeyTable priorities_key_table() {
  return {"[workload.priorities]", "", "A class of requests; one table for each.",
          class_keys().notes()};
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
    class_keys().read(table, one);
    table.finish();
    classes.push_back(one);
  }
  return Priorities(std::move(classes));
}

}  // namespace foretoken

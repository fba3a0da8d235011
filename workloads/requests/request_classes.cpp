#include "workloads/requests/request_classes.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/key_lists.hpp"
#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

constexpr std::string_view priorities_remedy =
    "write a list of classes, for example [{ priority = 0, share = 0.2 }, { priority = 1, share = "
    "0.8 }]; lower priorities go first";
constexpr std::string_view classes_remedy =
    "write a list of classes, for example [{ tenant = \"web\", share = 0.7 }, { tenant = "
    "\"batch\", share = 0.3 }]";

Key<RequestClass> share_key() {
  return {"share",
          &RequestClass::share,
          {.range =
               {.low = 0, .high = 1e9, .has_low = false, .message = "must be above 0, at most 1e9"},
           .required = true},
          "How many of the requests belong to it, relative to the other classes' shares."};
}

const Keys<RequestClass>& priority_keys() {
  using S = RequestClass;
  static const Keys<S> keys = {
      {"priority",
       &S::priority,
       {.required = true},
       "Rank of the class: lower numbers go first, with schedulers that look at it."},
      share_key(),
  };
  return keys;
}

/// `trace` for lengths that come from one.
Keys<RequestClass> class_keys(const LengthRegistry& lengths,
                              const std::shared_ptr<const Trace>& trace) {
  using S = RequestClass;
  return {
      share_key(),
      {"tenant",
       &S::tenant,
       {.fallback = "not set", .quiet = true},
       "Customer or team whose requests these are. Every class names one, or none does; several "
       "may be one tenant's."},
      {"weight",
       &S::weight,
       {.range = above(0), .quiet = true},
       "The tenant's part where tenants share what there is (scheduler vtc, the report's "
       "fairness): with 2 it gets twice what one with 1 gets."},
      {"model",
       &S::model,
       {.fallback = "not set", .quiet = true},
       "Model that these requests ask for, by the name that [model] or a [pool.NAME.model] gives "
       "it. "
       "Every class names one, or none does."},
      {"priority",
       &S::priority,
       {.quiet = true},
       "Rank of the class: lower numbers go first, with schedulers and gateways that look at it."},
      length_key<S>({.name = "prompt_tokens",
                     .fallback = "not set (workload.prompt_tokens)",
                     .meaning = "Tokens of its prompts."},
                    &S::prompt_tokens, {LengthOf::prompt, trace}, lengths),
      length_key<S>({.name = "output_tokens",
                     .fallback = "not set (workload.output_tokens)",
                     .meaning = "Tokens that are generated for its requests."},
                    &S::output_tokens, {LengthOf::output, trace}, lengths),
  };
}

void check_class(TableReader& table, const RequestClass& one,
                 const std::vector<RequestClass>& before) {
  if (before.empty()) return;
  table.expect("tenant", one.tenant.empty() == before.front().tenant.empty(),
               "is given for some classes only; name one in each");
  table.expect("model", one.model.empty() == before.front().model.empty(),
               "is given for some classes only; name one in each");
  const auto same = std::ranges::find(before, one.tenant, &RequestClass::tenant);
  table.expect("weight", same == before.end() || same->weight == one.weight,
               fmt::format("is another than before for tenant \"{}\"; write the same", one.tenant));
}

}  // namespace

RequestClasses::RequestClasses(std::vector<RequestClass> classes) : classes_(std::move(classes)) {
  for (RequestClass& one : classes_) {
    share_sum_ += one.share;
    const auto model = std::ranges::find(models_, one.model);
    one.model_number = static_cast<int>(model - models_.begin());
    if (model == models_.end() && !one.model.empty()) models_.push_back(one.model);
    if (one.tenant.empty()) continue;
    const auto known = std::ranges::find(tenants_, one.tenant, &Tenant::name);
    one.tenant_number = static_cast<int>(known - tenants_.begin());
    if (known == tenants_.end()) tenants_.push_back({one.tenant, one.weight});
  }
}

bool RequestClasses::are_priorities() const {
  return tenants_.empty() && models_.empty() &&
         std::ranges::all_of(classes_, [](const RequestClass& one) {
           return one.prompt_tokens == nullptr && one.output_tokens == nullptr;
         });
}

double RequestClasses::share_of_model(int model) const {
  if (models_.empty()) return model == 0 ? 1.0 : 0.0;
  double sum = 0.0;
  for (const RequestClass& one : classes_) sum += one.model_number == model ? one.share : 0.0;
  return sum / share_sum_;
}

const RequestClass& RequestClasses::sample(RandomStream& random) const {
  if (classes_.empty()) return any_;
  double left = uniform(random) * share_sum_;
  for (const RequestClass& one : classes_) {
    if (left < one.share) return one;
    left -= one.share;
  }
  return classes_.back();  // rounding took the sum of the shares below the draw
}

void RequestClasses::describe(Value& workload) const {
  if (classes_.empty()) return;
  if (are_priorities()) return workload.set("priorities", list_value(classes_, priority_keys()));
  workload.set("classes", list_value(classes_, class_keys(length_registry(), nullptr)));
}

std::vector<KeyNote> request_class_notes() {
  return {{"priorities", "list of tables", "", "not set (all equal)", "",
           "Classes of requests that schedulers may prefer: [[workload.priorities]]."},
          {"classes", "list of tables", "", "not set (all equal)", "",
           "Classes of requests by tenant, with lengths of their own: [[workload.classes]]."}};
}

std::vector<KeyTable> request_class_key_tables() {
  return {{"[workload.priorities]", "", "A class of requests; one table for each.",
           priority_keys().notes()},
          {"[workload.classes]", "",
           "A class of requests; one table for each, in place of [[workload.priorities]].",
           class_keys(length_registry(), nullptr).notes()}};
}

RequestClasses read_request_classes(TableReader& workload, const LengthRegistry& lengths,
                                    const std::shared_ptr<const Trace>& trace) {
  const auto any = [](TableReader&, const RequestClass&, const std::vector<RequestClass>&) {};
  std::vector<RequestClass> priorities =
      read_list(workload, "priorities", priority_keys(), priorities_remedy, any);
  std::vector<RequestClass> classes =
      read_list(workload, "classes", class_keys(lengths, trace), classes_remedy, check_class);
  workload.expect("priorities", priorities.empty() || classes.empty(),
                  "and classes both divide the requests; write the priority of each class there");
  return RequestClasses(std::move(classes.empty() ? priorities : classes));
}

}  // namespace foretoken

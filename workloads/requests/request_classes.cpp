#include "workloads/requests/request_classes.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/key_lists.hpp"
#include "sim/base/nearest_name.hpp"
#include "workloads/requests/trace.hpp"
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
       "Rank of the class: lower numbers go first, with schedulers that use it."},
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
       "may name the same."},
      {"weight",
       &S::weight,
       {.range = above(0), .quiet = true},
       "The tenant's weight in fair sharing (scheduler vtc, the report's fairness): with 2 it gets "
       "twice what one with 1 gets."},
      {"model",
       &S::model,
       {.fallback = "not set", .quiet = true},
       "Model that these requests ask for, by the name that [model] or a [pool.NAME.model] gives "
       "it. Every class names one, or none does. Requests of a trace that name models (formats "
       "jsonl and served) follow these instead of being drawn."},
      {"priority",
       &S::priority,
       {.quiet = true},
       "Rank of the class: lower numbers go first, with schedulers and gateways that use it."},
      length_key<S>({.name = "prompt_tokens",
                     .fallback = "not set (workload.prompt_tokens)",
                     .meaning = "Prompt tokens of its requests."},
                    &S::prompt_tokens, {LengthOf::prompt, trace}, lengths),
      length_key<S>({.name = "output_tokens",
                     .fallback = "not set (workload.output_tokens)",
                     .meaning = "Output tokens of its requests."},
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
  table.expect(
      "weight", same == before.end() || same->weight == one.weight,
      fmt::format("differs from the one before for tenant \"{}\"; write the same", one.tenant));
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
  shares_of_models_.resize(models_.size());
  for (const RequestClass& one : classes_) {
    if (!one.model.empty())
      shares_of_models_[static_cast<std::size_t>(one.model_number)] += one.share / share_sum_;
  }
}

bool RequestClasses::are_priorities() const {
  return tenants_.empty() && models_.empty() &&
         std::ranges::all_of(classes_, [](const RequestClass& one) {
           return one.prompt_tokens == nullptr && one.output_tokens == nullptr;
         });
}

std::vector<int> RequestClasses::priorities() const {
  if (classes_.empty()) return {0};
  std::vector<int> priorities;
  for (const RequestClass& one : classes_) {
    if (std::ranges::find(priorities, one.priority) == priorities.end())
      priorities.push_back(one.priority);
  }
  return priorities;
}

double RequestClasses::share_of_model(int model) const {
  if (models_.empty()) return model == 0 ? 1.0 : 0.0;
  return shares_of_models_[static_cast<std::size_t>(model)];
}

void RequestClasses::follow(const Trace& trace) {
  if (models_.empty() || trace.models().empty()) return;
  for (const std::string& name : trace.models()) {
    const auto known = std::ranges::find(models_, name);
    if (known == models_.end()) {
      throw ConfigError({},
                        "name every model that the trace asks for: " +
                            unknown_name_message("model", name, {models_.begin(), models_.end()}));
    }
    model_of_trace_.push_back(static_cast<int>(known - models_.begin()));
  }
  trace_ = &trace;
  std::vector<double> named(models_.size(), 0.0);
  double unnamed = 0.0;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto model = trace.model(row);
    (model ? named[static_cast<std::size_t>(model_of_trace_[*model])] : unnamed) += 1.0;
  }
  for (std::size_t model = 0; model < models_.size(); ++model) {
    shares_of_models_[model] =
        (named[model] + unnamed * shares_of_models_[model]) / static_cast<double>(trace.size());
  }
}

const RequestClass& RequestClasses::sample(RandomStream& random, std::size_t row) const {
  if (classes_.empty()) return any_;
  const auto named = trace_ != nullptr ? trace_->model(row) : std::nullopt;
  if (!named) return draw(random, share_sum_, std::nullopt);
  const int model = model_of_trace_[*named];
  double sum = 0.0;
  for (const RequestClass& one : classes_) sum += one.model_number == model ? one.share : 0.0;
  return draw(random, sum, model);
}

const RequestClass& RequestClasses::draw(RandomStream& random, double share_sum,
                                         std::optional<int> model) const {
  double left = uniform(random) * share_sum;
  const RequestClass* last = nullptr;
  for (const RequestClass& one : classes_) {
    if (model && one.model_number != *model) continue;
    if (left < one.share) return one;
    left -= one.share;
    last = &one;
  }
  return *last;  // rounding took the sum of the shares below the draw
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
           "Classes of requests by tenant, with their own lengths: [[workload.classes]]."}};
}

std::vector<KeyTable> request_class_key_tables() {
  return {{"[workload.priorities]", "", "A class of requests; one table each.",
           priority_keys().notes()},
          {"[workload.classes]", "",
           "A class of requests; one table each, instead of [[workload.priorities]].",
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

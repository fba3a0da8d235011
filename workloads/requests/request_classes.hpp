// Classes of requests: whose a request is, which model it asks for, how urgent, and how long where
// classes differ in that.
// `priorities = [{ priority = 0, share = 0.2 }, ...]` of [workload] divides the requests by
// urgency alone, `classes` by tenants and models too. Each request belongs to one class by chance;
// which it is depends on nothing but the seed and the request's number. Of conversations and agents
// all calls are of one class, unless classes are nothing but priorities.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {

struct RequestClass {
  int priority = 0;     // lower goes first
  double share = 1.0;   // of the requests, relative to the other classes'
  std::string tenant;   // "" = no tenants
  double weight = 1.0;  // of the tenant, where tenants share
  std::string model;    // "" = the only one
  /// null = the workload's.
  std::shared_ptr<const LengthDistribution> prompt_tokens = nullptr, output_tokens = nullptr;
  int tenant_number = 0, model_number = 0;  // of RequestClasses::tenants() and models()
};

struct Tenant {
  std::string name;
  double weight = 1.0;
};

class RequestClasses {
 public:
  /// Without classes every request has priority 0 and no tenant.
  RequestClasses() = default;
  explicit RequestClasses(std::vector<RequestClass> classes);

  [[nodiscard]] bool empty() const { return classes_.empty(); }
  /// Whether classes differ in nothing but priority.
  [[nodiscard]] bool are_priorities() const;
  /// Each tenant once, in the order of the classes.
  [[nodiscard]] const std::vector<Tenant>& tenants() const { return tenants_; }
  /// Likewise each priority; without classes 0.
  [[nodiscard]] std::vector<int> priorities() const;
  /// Likewise each model.
  [[nodiscard]] const std::vector<std::string>& models() const { return models_; }
  /// Part of the requests that ask for models()[model].
  [[nodiscard]] double share_of_model(int model) const;
  /// From now on a row of `trace` that names a model is of one of that model's classes, and models
  /// have the shares that they have there. Throws ConfigError, without a place, for a model that no
  /// class names.
  void follow(const Trace& trace);
  /// The class of the next request, which arrives as `row` of the trace that is followed, if one
  /// is. Draws one number; none without classes.
  [[nodiscard]] const RequestClass& sample(RandomStream& random, std::size_t row) const;
  /// Sets the key if there are classes.
  void describe(Value& workload) const;

 private:
  [[nodiscard]] const RequestClass& draw(RandomStream& random, double share_sum,
                                         std::optional<int> model) const;

  std::vector<RequestClass> classes_;
  std::vector<Tenant> tenants_;
  std::vector<std::string> models_;
  double share_sum_ = 0.0;
  const Trace* trace_ = nullptr;          // that is followed; whoever has the classes keeps it
  std::vector<int> model_of_trace_;       // models_, by the trace's
  std::vector<double> shares_of_models_;  // of the requests; by models_
  RequestClass any_;
};

/// What the keys and the tables of their lists may hold.
std::vector<KeyNote> request_class_notes();
std::vector<KeyTable> request_class_key_tables();

/// Reads `priorities` or `classes`; absent means none. Reports mistakes.
RequestClasses read_request_classes(TableReader& workload, const LengthRegistry& lengths,
                                    const std::shared_ptr<const Trace>& trace);

}  // namespace foretoken

#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

constexpr std::string_view length_example =
    "write a number, or for example { distribution = \"lognormal\", mean = 1000, p99 = 4000 }";

std::unique_ptr<LengthDistribution> make(const Value& options, const std::string& full_key,
                                         Diagnostics& diagnostics, const LengthInputs& inputs,
                                         const LengthRegistry& registry) {
  TableReader table(options, diagnostics, full_key);
  std::string name;
  if (!table.require("distribution", name)) return nullptr;
  std::unique_ptr<LengthDistribution> lengths;
  const bool known = diagnostics.attempt(
      [&] { lengths = registry.find(name, table.position("distribution")).make(table, inputs); });
  if (known) table.finish();
  return lengths;
}

Value named(std::string_view distribution, const SourcePosition& position) {
  Value options;
  options.position = position;
  options.set("distribution", std::string(distribution));
  return options;
}

}  // namespace

std::unique_ptr<LengthDistribution> read_lengths(TableReader& workload, std::string_view key,
                                                 const LengthInputs& inputs,
                                                 const LengthRegistry& registry) {
  Diagnostics& diagnostics = workload.diagnostics();
  const std::string full_key = workload.full_name(key);
  const Value* value = workload.find(key);
  if (value == nullptr) {
    if (inputs.trace != nullptr) {
      return make(named("trace", workload.position(key)), full_key, diagnostics, inputs, registry);
    }
    workload.fail(key, fmt::format("is missing; {}", length_example));
    return nullptr;
  }
  if (value->is_object()) return make(*value, full_key, diagnostics, inputs, registry);
  int tokens = 0;
  if (!std::holds_alternative<std::int64_t>(value->data)) {
    workload.fail(key, fmt::format("is {}; {}", type_name(*value), length_example), Mistake::slip);
    return nullptr;
  }
  if (!workload.read(key, tokens)) return nullptr;
  workload.expect(key, tokens >= 1, "must be at least 1", Mistake::slip);
  Value options = named("fixed", value->position);
  options.set("value", tokens);
  return tokens >= 1 ? make(options, full_key, diagnostics, inputs, registry) : nullptr;
}

}  // namespace foretoken

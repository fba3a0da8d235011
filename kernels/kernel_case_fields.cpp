#include "kernels/kernel_case_fields.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/launch_limits.hpp"

namespace foretoken {
namespace {

Routing read_balancedness(TableReader& table, std::string_view key) {
  Routing routing{Routing::Kind::balancedness, 0, {}};
  table.read(key, routing.parameter);
  table.expect(key, routing.parameter > 0 && routing.parameter <= 1,
               "must be a balancedness above 0 and at most 1");
  return routing;
}

Routing read_histogram(TableReader& table, std::string_view key, std::int64_t assignments,
                       int experts) {
  std::vector<int> counts;
  if (!table.read(key, counts)) return {};
  if (std::ranges::any_of(counts, [](int count) { return count < 0; })) {
    table.fail(key, "counts must not be negative");
    return {};
  }
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  table.expect(
      key, experts == 0 || counts.size() == static_cast<std::size_t>(experts),
      fmt::format("needs one count per expert: {} given, experts is {}", counts.size(), experts));
  table.expect(key, assignments == 0 || total == assignments,
               fmt::format("adds up to {}, but tokens x topk is {}", total, assignments));
  return {Routing::Kind::histogram, 0, {counts.begin(), counts.end()}};
}

}  // namespace

AttentionLoad read_load(TableReader& table) {
  std::vector<int> queries;
  std::vector<int> contexts;
  const bool has_queries = table.require("query_tokens", queries);
  const bool has_contexts = table.require("context_tokens", contexts);
  if (!has_queries || !has_contexts) return {};
  if (queries.empty() || queries.size() != contexts.size()) {
    table.fail(
        "query_tokens",
        fmt::format("needs one number per sequence, like context_tokens; there are {} and {}",
                    queries.size(), contexts.size()));
    return {};
  }
  std::vector<SequenceSlice> slices;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (queries[i] < 1 || queries[i] > case_size_max) {
      table.fail("query_tokens",
                 fmt::format("sequence {}: {} tokens; {}", i + 1, queries[i], case_size_rule));
      return {};
    }
    if (contexts[i] < queries[i] || contexts[i] > case_size_max) {
      table.fail("context_tokens",
                 fmt::format("sequence {}: a context of {} with {} query tokens; contexts include "
                             "the queries and are at most {}",
                             i + 1, contexts[i], queries[i], case_size_max));
      return {};
    }
    slices.push_back({queries[i], contexts[i]});
  }
  const std::int64_t tokens = std::accumulate(queries.begin(), queries.end(), std::int64_t{0});
  if (tokens > launch_query_tokens_max) {
    table.fail("query_tokens", fmt::format("{} tokens in all; a launch has at most {}", tokens,
                                           launch_query_tokens_max));
    return {};
  }
  return AttentionLoad::exact(std::move(slices));
}

Routing read_routing(TableReader& table, std::int64_t assignments, int experts) {
  const Value* routing = table.find("routing");
  const bool has_balancedness = table.find("balancedness") != nullptr;
  const bool has_histogram = table.find("histogram") != nullptr;
  if ((routing != nullptr) + has_balancedness + has_histogram > 1) {
    table.fail("routing", "give one of routing, balancedness and histogram");
    return {};
  }
  if (has_balancedness) return read_balancedness(table, "balancedness");
  if (has_histogram) return read_histogram(table, "histogram", assignments, experts);
  if (routing == nullptr) return {};
  if (routing->is_array()) return read_histogram(table, "routing", assignments, experts);
  if (!routing->is_string()) return read_balancedness(table, "routing");
  Routing parsed;
  table.diagnostics().attempt(
      [&] { parsed = parse_routing(std::get<std::string>(routing->data), routing->position); });
  return parsed;
}

}  // namespace foretoken

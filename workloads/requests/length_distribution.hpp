// How long requests are: the family behind `prompt_tokens` and `output_tokens`, each an integer or
// a table { distribution = "...", ... }. A variant is one .cpp in lengths/ and one line in its
// catalog. Prompts draw from the stream "prompt_tokens", outputs from "output_tokens", one request
// after the other, so lengths depend neither on arrivals nor on each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"
#include "workloads/requests/trace.hpp"

namespace foretoken {

class LengthDistribution {
 public:
  virtual ~LengthDistribution() = default;

  /// Tokens of the next request, at least 1. `trace_row` counts requests, or is the row of the
  /// trace that arrives; only the variant "trace" looks at it.
  virtual std::int64_t sample(RandomStream& random, std::size_t trace_row) const = 0;

  /// The table, defaults filled in, that reads back to the same distribution.
  [[nodiscard]] virtual Value resolved() const = 0;

  /// Whether lengths come from the trace's rows.
  [[nodiscard]] virtual bool uses_trace() const { return false; }
};

enum class LengthOf { prompt, output };

/// What a variant may need besides its table.
struct LengthInputs {
  LengthOf of = LengthOf::prompt;
  std::shared_ptr<const Trace> trace;  // null if the [workload] table names none
};

using LengthFactory =
    std::function<std::unique_ptr<LengthDistribution>(TableReader&, const LengthInputs&)>;
using LengthRegistry = Registry<LengthFactory>;

/// fixed, uniform, lognormal, zipf, histogram, trace.
LengthRegistry length_registry();

/// Reads <key> of `table`. Absent means the trace's lengths if there
/// is a trace, else a mistake. Reports mistakes and then returns nullptr or something unusable.
std::unique_ptr<LengthDistribution> read_lengths(TableReader& table, std::string_view key,
                                                 const LengthInputs& inputs,
                                                 const LengthRegistry& registry);

}  // namespace foretoken

#include "kernels/estimators/problem_size.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// A cached context of none is a size too.
constexpr double cached_unit = 64;

double number(std::int64_t count) { return static_cast<double>(count); }
std::int64_t whole(double size) { return std::max<std::int64_t>(1, std::llround(size)); }

/// Queries of a decode: one, and the drafts that are verified with it.
std::int64_t queries_of_decode(std::int64_t queries, std::int64_t sequences) {
  return (queries + sequences - 1) / sequences;
}

/// Whether every sequence has as much as the longest.
bool are_equal(const LoadSums& sums) {
  return sums.context_tokens_max * sums.sequences == sums.context_tokens &&
         sums.query_tokens_max * sums.sequences == sums.query_tokens;
}

ProblemSize size_of(const AttentionLoad& load) {
  const LoadSums& prompts = load.prefill;
  const LoadSums& decodes = load.decode;
  if (prompts.sequences > 0 && decodes.sequences > 0) return {};
  if (decodes.sequences > 0) {
    const double count = number(decodes.sequences);
    const double context = std::max(number(decodes.context_tokens) / count, 1.0);
    return {2, {count, context, 1}, are_equal(decodes)};
  }
  if (prompts.sequences == 0) return {};
  const double count = number(prompts.sequences);
  const double cached = number(prompts.context_tokens - prompts.query_tokens) / count;
  return {3,
          {count, std::max(number(prompts.query_tokens) / count, 1.0),
           1 + std::max(cached, 0.0) / cached_unit}};
}

LoadSums equal_sequences(std::int64_t count, const SequenceSlice& slice) {
  LoadSums sums;
  sums.add(slice);
  sums.sequences *= count;
  sums.query_tokens *= count;
  sums.context_tokens *= count;
  sums.causal_pairs *= number(count);
  return sums;
}

AttentionLoad resized(const AttentionLoad& load, const ProblemSize& size) {
  AttentionLoad out;
  const std::int64_t count = whole(size.sizes[0]);
  if (load.decode.sequences > 0) {
    const auto queries = queries_of_decode(load.decode.query_tokens, load.decode.sequences);
    out.decode = equal_sequences(count, {queries, std::max(queries, whole(size.sizes[1]))});
    return out;
  }
  const std::int64_t queries = whole(size.sizes[1]);
  const auto cached = static_cast<std::int64_t>(std::llround((size.sizes[2] - 1) * cached_unit));
  out.prefill = equal_sequences(count, {queries, queries + cached});
  return out;
}

ProblemSize size_of(const StateLoad& load) {
  if (load.prefill_sequences > 0 && load.decode_sequences > 0) return {};
  if (load.decode_sequences > 0) return {1, {number(load.decode_sequences), 1, 1}, true};
  if (load.prefill_sequences == 0) return {};
  const double longest = std::max(load.longest_prompt(), 1.0);
  const double count = std::max(number(load.prefill_tokens) / longest, 1.0);
  return {2, {count, longest, 1}, load.prefill_longest == 0};
}

StateLoad resized(const StateLoad& load, const ProblemSize& size) {
  const std::int64_t count = whole(size.sizes[0]);
  if (load.decode_sequences > 0) {
    return {.decode_sequences = count,
            .decode_tokens = count * queries_of_decode(load.decode_tokens, load.decode_sequences)};
  }
  return {.prefill_sequences = count, .prefill_tokens = count * whole(size.sizes[1])};
}

/// The number of rows of a kernel that has nothing else of the batch, or nullptr.
template <class Own>
auto* row_count(Own& own) {
  if constexpr (requires { own.rows; }) {
    return &own.rows;
  } else if constexpr (requires { own.batch; }) {  // of each head's product
    return &own.m;
  } else {
    return &own.tokens;
  }
}

template <class Own>
constexpr bool has_rows = requires(Own own) {
  own.rows;
}
|| requires(Own own) { own.tokens; }
|| std::is_same_v<Own, BatchedGemm>;
template <class Own>
constexpr bool has_load = requires(Own own) {
  own.load;
};

}  // namespace

ProblemSize problem_size(const Kernel& kernel) {
  if (const auto* moe = std::get_if<FusedMoe>(&kernel); moe != nullptr) {
    // Counts are of this many tokens.
    if (!moe->routing.counts.empty()) return {};
  }
  return std::visit(
      []<class Own>(const Own& own) -> ProblemSize {
        if constexpr (std::is_same_v<Own, StateConvolution>) {
          StateLoad load = own.load;
          load.prefill_longest = 0;  // nothing of it follows from a token before
          return size_of(load);
        } else if constexpr (has_load<Own>) {
          return size_of(own.load);
        } else if constexpr (has_rows<Own>) {
          return {1, {std::max(number(*row_count(own)), 1.0), 1, 1}, true};
        } else {
          return {};
        }
      },
      kernel);
}

Kernel with_size(const Kernel& kernel, const ProblemSize& size) {
  FORETOKEN_CHECK(size.axes > 0 && size.axes == problem_size(kernel).axes,
                  "a size of {} axes for {}", size.axes, kernel_name(kernel));
  return std::visit(
      [&]<class Own>(const Own& own) -> Kernel {
        Own copy = own;
        if constexpr (has_load<Own>) {
          copy.load = resized(own.load, size);
        } else if constexpr (has_rows<Own>) {
          *row_count(copy) = whole(size.sizes[0]);
        }
        return copy;
      },
      kernel);
}

}  // namespace foretoken

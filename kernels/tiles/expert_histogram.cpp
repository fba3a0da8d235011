#include "kernels/tiles/expert_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/expert_shares.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Tokens and draws that the exponent of topk_distinct is solved with: the mean of 8 draws of 256
/// tokens is within 0.002 of its expectation.
constexpr std::int64_t trial_tokens_max = 256;
constexpr int trial_draws = 8;
constexpr int bisections = 24;
/// Zipf's exponent beyond which one set of experts takes every token.
constexpr double exponent_max = 64;
/// What topk_distinct may be below its floor, as users round it: 0.43 for 0.4286.
constexpr double floor_tolerance = 0.005;

/// Of q / E for all and 1 - q more for one.
std::vector<double> mixed_shares(double q, int experts) {
  std::vector<double> shares(static_cast<std::size_t>(experts), q / experts);
  shares.front() += 1 - q;
  return shares;
}

double mixing_share(double balancedness, int experts) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const bool is_even = relative_entropy(mixed_shares(middle, experts)) > balancedness;
    (is_even ? high : low) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> even_shares(double balancedness, int experts) {
  const double active = std::round(std::pow(static_cast<double>(experts), balancedness));
  const int count = std::clamp(static_cast<int>(active), 1, experts);
  std::vector<double> shares(static_cast<std::size_t>(experts), 0.0);
  std::fill_n(shares.begin(), count, 1.0 / count);
  return shares;
}

/// Independent draws with replacement.
std::vector<std::int64_t> draw_with_replacement(const std::vector<double>& shares,
                                                std::int64_t assignments, RandomStream& stream) {
  std::vector<double> ends(shares.size());
  std::partial_sum(shares.begin(), shares.end(), ends.begin());
  std::vector<std::int64_t> counts(shares.size());
  for (std::int64_t i = 0; i < assignments; ++i) {
    const auto found = std::ranges::upper_bound(ends, uniform(stream) * ends.back());
    const auto last = static_cast<std::ptrdiff_t>(counts.size()) - 1;
    ++counts[static_cast<std::size_t>(std::min(found - ends.begin(), last))];
  }
  return counts;
}

/// Each token's k experts of largest log popularity plus Gumbel noise.
std::vector<std::int64_t> draw_distinct(double exponent, int experts, int topk, std::int64_t tokens,
                                        RandomStream& stream) {
  const auto count = static_cast<std::size_t>(experts);
  std::vector<double> logits(count);
  for (std::size_t i = 0; i < count; ++i) {
    logits[i] = -exponent * std::log(static_cast<double>(i + 1));
  }
  std::vector<std::int64_t> counts(count);
  std::vector<std::pair<double, std::size_t>> scores(count);
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::size_t i = 0; i < count; ++i) {
      scores[i] = {logits[i] - std::log(-std::log(uniform(stream) + 0x1.0p-54)), i};
    }
    std::ranges::partial_sort(scores, scores.begin() + topk, std::greater<>());
    for (int i = 0; i < topk; ++i) ++counts[scores[static_cast<std::size_t>(i)].second];
  }
  return counts;
}

double mean_balancedness(double exponent, const HistogramRequest& request) {
  // The same noise at every exponent, so that the mean falls smoothly with it.
  RandomStream stream = RandomStreams(1).stream("expert_histogram");
  const std::int64_t tokens = std::min(request.tokens, trial_tokens_max);
  double sum = 0;
  for (int i = 0; i < trial_draws; ++i) {
    sum += relative_entropy(
        shares_of(draw_distinct(exponent, request.experts, request.topk, tokens, stream)));
  }
  return sum / trial_draws;
}

double distinct_exponent(const HistogramRequest& request) {
  const double floor = balancedness_floor(request.experts, request.topk);
  if (request.balancedness < floor - floor_tolerance) {
    throw ConfigError(
        {},
        fmt::format("balancedness {} cannot be reached with {} distinct experts of {} per token: "
                    "it is at least {:.3f}; ask for a higher one, or draw with replacement (zipf)",
                    request.balancedness, request.topk, request.experts, floor));
  }
  if (mean_balancedness(0, request) <= request.balancedness) return 0;
  double low = 0, high = exponent_max;
  for (int i = 0; i < bisections; ++i) {
    const double middle = (low + high) / 2;
    (mean_balancedness(middle, request) > request.balancedness ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Fisher and Yates, since std::shuffle differs between libraries.
void shuffle(std::vector<std::int64_t>& counts, RandomStream& stream) {
  for (std::size_t i = counts.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(uniform(stream) * static_cast<double>(i));
    std::swap(counts[i - 1], counts[other]);
  }
}

}  // namespace

double balancedness_floor(int experts, int topk) {
  return experts < 2 ? 1 : std::log(static_cast<double>(topk)) / std::log(experts);
}

std::vector<double> histogram_shares(const HistogramRequest& request) {
  switch (request.mode) {
    case HistogramMode::active_subset:
      return even_shares(request.balancedness, request.experts);
    case HistogramMode::zipf:
      return rank_shares(popularity_exponent(request.balancedness, request.experts),
                         request.experts);
    case HistogramMode::onehot_mix:
      return mixed_shares(mixing_share(request.balancedness, request.experts), request.experts);
    case HistogramMode::topk_distinct:
      break;
  }
  FORETOKEN_CHECK(false, "draws of distinct experts have no independent shares");
  return {};
}

std::vector<std::int64_t> draw_histogram(const HistogramRequest& request, RandomStream& stream) {
  FORETOKEN_CHECK(request.experts > 0 && request.topk > 0 && request.topk <= request.experts &&
                      request.tokens >= 0 && request.balancedness > 0 && request.balancedness <= 1,
                  "{} of {} experts, {} tokens, balancedness {}", request.topk, request.experts,
                  request.tokens, request.balancedness);
  const std::int64_t assignments = request.tokens * request.topk;
  std::vector<std::int64_t> counts;
  switch (request.mode) {
    case HistogramMode::active_subset:
      counts = largest_remainder(histogram_shares(request), assignments);
      break;
    case HistogramMode::zipf:
    case HistogramMode::onehot_mix:
      counts = draw_with_replacement(histogram_shares(request), assignments, stream);
      break;
    case HistogramMode::topk_distinct:
      counts = draw_distinct(request.tokens > 0 ? distinct_exponent(request) : 0, request.experts,
                             request.topk, request.tokens, stream);
      break;
  }
  shuffle(counts, stream);
  return counts;
}

}  // namespace foretoken

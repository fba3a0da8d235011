#include "kernels/expert_draws.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foretoken {
namespace {

/// Means above this are taken for normal; well below counts_end, where a draw is then never.
constexpr double few_max = 16;
/// Gauss and Hermite's five points of a normal number, and how likely each is.
constexpr std::array<double, 5> normal_points = {-2.8569700138728056, -1.3556261799742659, 0,
                                                 1.3556261799742659, 2.8569700138728056};
constexpr std::array<double, 5> normal_weights = {0.011257411327720691, 0.22207592200561264,
                                                  0.53333333333333333, 0.22207592200561264,
                                                  0.011257411327720691};

PopularityLaw log_uniform(double range) { return {1, 1, std::max(range, 1.001)}; }

}  // namespace

double expected_maximum(double draws) {
  if (draws <= 1) return 0;
  const double share = (draws - 0.375) / (draws + 0.25);
  const double root = std::sqrt(-2 * std::log(1 - share));
  // Abramowitz and Stegun 26.2.22.
  return root - (2.30753 + 0.27061 * root) / (1 + 0.99229 * root + 0.04481 * root * root);
}

ExpertDraws::ExpertDraws(const PopularityLaw& law, int held, double chance, double tokens)
    : points_(std::min(held, quantiles_max)),
      weight_(static_cast<double>(held) / points_),
      tokens_(tokens),
      range_(law.high / law.low) {
  const auto point = [](int i) { return static_cast<std::size_t>(i); };
  double rest = 0, left = chance * points_;
  for (int i = 0; i < points_; ++i) {
    chances_[point(i)] = law.quantile(1 - (i + 0.5) / points_);
    rest += chances_[point(i)];
  }
  // What no token can draw more of goes to the others in proportion.
  for (int i = 0; i < points_; ++i) {
    double& own = chances_[point(i)];
    const double drawn = std::min(1.0, own / rest * left);
    rest -= own;
    left -= drawn;
    own = drawn;
  }
  while (few_end_ < points_ && expected(few_end_) > few_max) ++few_end_;
  for (int i = few_end_; i < points_; ++i) {
    const double own = chances_[point(i)];
    // Binomial, from no draw on.
    double likely = own < 1 ? std::exp(tokens * std::log1p(-own)) : 0;
    double rest_likely = 1;
    for (int count = 0; count < counts_end && rest_likely > 0; ++count) {
      const bool is_last = count + 1 == counts_end || count >= tokens;
      if (own >= 1) likely = is_last ? 1 : 0;
      const double here = is_last ? rest_likely : std::min(likely, rest_likely);
      experts_[point(count)] += weight_ * here;
      rest_likely -= here;
      if (is_last) break;
      likely *= (tokens - count) / (count + 1) * own / (1 - own);
    }
  }
}

double ExpertDraws::expected(int point) const {
  return tokens_ * chances_[static_cast<std::size_t>(point)];
}

double ExpertDraws::deviation(int point) const {
  // So little that no point of five lies beyond all tokens.
  return std::min(std::sqrt(expected(point) * (1 - chances_[static_cast<std::size_t>(point)])),
                  (tokens_ - expected(point)) / normal_points.back());
}

void ExpertDraws::visit(const std::function<void(double, double)>& visitor) const {
  for (std::size_t count = 0; count < experts_.size(); ++count) {
    if (experts_[count] > 0) visitor(experts_[count], static_cast<double>(count));
  }
  for (int i = few_end_ - 1; i >= 0; --i) {
    for (std::size_t at = 0; at < normal_points.size(); ++at) {
      visitor(weight_ * normal_weights[at], expected(i) + normal_points[at] * deviation(i));
    }
  }
}

double ExpertDraws::largest() const {
  const double most = expected(0);
  if (few_end_ > 0) {
    // Those within a deviation of the most popular one may come out above it.
    const double near = -std::log(1 - 1 / std::sqrt(most)) / std::log(range_) * weight_ * points_;
    return std::min(most + expected_maximum(near) * deviation(0), tokens_);
  }
  // Sum over counts of how likely any expert reaches them.
  double sum = 0, reaching = 0;
  for (std::size_t count = experts_.size() - 1; count > 0; --count) {
    reaching += experts_[count];
    sum += -std::expm1(-reaching);
  }
  return std::max(sum, 1.0);
}

ExpertDraws busiest_draws(double popularity_range, std::int64_t tokens, int topk, int experts,
                          int held, int ranks) {
  const PopularityLaw law = log_uniform(popularity_range);
  const double chance = static_cast<double>(topk) / experts;
  const double mean = static_cast<double>(tokens) * chance;
  double more = 1;
  if (ranks > 1) {
    // A rank's sum is nearly normal: its experts are so many draws of the law, and tokens draw
    // them; Cornish and Fisher's term corrects for the skew that few experts keep.
    const double first = law.moment(1);
    const double spread = law.moment(2) / (first * first) - 1;
    const double lean =
        law.moment(3) / (first * first * first) - 3 * law.moment(2) / (first * first) + 2;
    const double variance = mean * mean * spread + mean;
    const double skew =
        (mean * mean * mean * lean + 3 * mean * mean * spread + mean) / std::pow(variance, 1.5);
    double z = expected_maximum(ranks);
    z += (z * z - 1) / 6 * skew / std::sqrt(held);
    more += std::max(z, 0.0) * std::sqrt(variance) / mean / std::sqrt(held);
  }
  const double most = std::min(static_cast<double>(ranks), 1 / chance);
  return {law, held, chance * std::min(more, most), static_cast<double>(tokens)};
}

std::vector<std::int64_t> drawn_counts(double popularity_range, std::int64_t tokens, int topk,
                                       int experts) {
  std::vector<std::int64_t> counts;
  double named = 0;
  busiest_draws(popularity_range, tokens, topk, experts, experts, 1)
      .visit([&](double some, double each) {
        named += some;
        counts.resize(static_cast<std::size_t>(std::llround(named)), std::llround(each));
      });
  counts.resize(static_cast<std::size_t>(experts), counts.empty() ? 0 : counts.back());
  std::ranges::sort(counts, std::ranges::greater());
  // What rounding added or lost, one by one from the busiest on.
  std::int64_t missing =
      tokens * topk - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::size_t i = 0; missing != 0; i = (i + 1) % counts.size()) {
    const std::int64_t step = missing > 0 ? 1 : -1;
    if (counts[i] + step > tokens || counts[i] + step < 0) continue;
    counts[i] += step;
    missing -= step;
  }
  std::ranges::sort(counts, std::ranges::greater());
  return counts;
}

}  // namespace foretoken

#include "workloads/requests/length_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace foretoken {
namespace {

/// Beyond these, all lengths are at an edge of their bucket.
constexpr double skew_least = 0.05, skew_most = 20.0;
constexpr std::size_t buckets_aimed = 32;

double total(const LengthHistogram& histogram) {
  return std::accumulate(histogram.weights.begin(), histogram.weights.end(), 0.0);
}

int width(const LengthHistogram& histogram, std::size_t bucket) {
  return histogram.edges[bucket + 1] - histogram.edges[bucket];
}

/// A bucket up to `edge`; nothing between it and the one before.
void add_bucket(LengthHistogram& histogram, int low, int edge, double weight) {
  if (histogram.edges.empty()) histogram.edges.push_back(low);
  if (histogram.edges.back() < low) {
    histogram.edges.push_back(low);
    histogram.weights.push_back(0.0);
  }
  histogram.edges.push_back(edge);
  histogram.weights.push_back(weight);
}

void merge_equal(std::vector<WeightedLength>& lengths) {
  std::ranges::sort(lengths, {}, &WeightedLength::tokens);
  std::size_t kept = 0;
  for (const WeightedLength& length : lengths) {
    if (length.weight <= 0) continue;
    if (kept > 0 && lengths[kept - 1].tokens == length.tokens) {
      lengths[kept - 1].weight += length.weight;
    } else {
      lengths[kept++] = length;
    }
  }
  lengths.resize(kept);
}

}  // namespace

int LengthHistogram::at(double bucket_draw, double within_draw) const {
  double left = bucket_draw * total(*this);
  std::size_t bucket = 0;
  while (bucket + 1 < weights.size() && (left >= weights[bucket] || weights[bucket] == 0.0))
    left -= weights[bucket++];
  while (weights[bucket] == 0.0 && bucket > 0) --bucket;  // rounding has passed the last
  const int lengths = width(*this, bucket);
  const int step = static_cast<int>(std::floor(lengths * std::pow(within_draw, skew)));
  return edges[bucket] + 1 + std::clamp(step, 0, lengths - 1);
}

double LengthHistogram::mean() const {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double lengths = width(*this, i);
    const double within = lengths == 1 ? 1.0 : 0.5 + lengths / (skew + 1.0);
    sum += weights[i] * (edges[i] + within);
  }
  return sum / total(*this);
}

double LengthHistogram::quantile(double p) const {
  double left = p * total(*this);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0 && left <= weights[i])
      return edges[i] +
             std::max(1.0, std::ceil(width(*this, i) * std::pow(left / weights[i], skew)));
    left -= weights[i];
  }
  return longest();
}

int LengthHistogram::longest() const {
  std::size_t bucket = weights.size() - 1;
  while (bucket > 0 && weights[bucket] == 0.0) --bucket;
  return edges[bucket + 1];
}

LengthHistogram length_histogram(std::vector<WeightedLength> lengths) {
  merge_equal(lengths);
  double all = 0, sum = 0;
  for (const auto& [tokens, weight] : lengths) {
    all += weight;
    sum += tokens * weight;
  }
  // Ends of buckets, as shares of all; the last per cent is cut finer.
  std::vector<double> ends;
  for (std::size_t i = 1; i < buckets_aimed; ++i)
    ends.push_back(static_cast<double>(i) / buckets_aimed);
  for (const double end : {0.98, 0.99, 0.995, 0.998, 0.999, 0.9999}) ends.push_back(end);
  std::ranges::sort(ends);

  LengthHistogram histogram;
  const bool each = lengths.size() <= buckets_aimed;
  double before = 0, weight = 0;
  int low = lengths.front().tokens - 1;
  auto end = ends.begin();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const bool stands_alone = each || lengths[i].weight >= all / buckets_aimed;
    if (stands_alone) {
      if (weight > 0) add_bucket(histogram, low, lengths[i - 1].tokens, weight);
      weight = 0;
      low = lengths[i].tokens - 1;
    }
    weight += lengths[i].weight;
    before += lengths[i].weight;
    const bool is_full = end != ends.end() && before >= *end * all;
    if (!stands_alone && !is_full && i + 1 < lengths.size()) continue;
    while (end != ends.end() && before >= *end * all) ++end;
    add_bucket(histogram, low, lengths[i].tokens, weight);
    weight = 0;
    low = lengths[i].tokens;
  }
  return with_mean(std::move(histogram), sum / all);
}

LengthHistogram with_mean(LengthHistogram histogram, double mean) {
  // The mean of a bucket is its lower edge, 0.5, and its width / (skew + 1), but for width 1.
  double fixed = 0, widths = 0;
  const double all = total(histogram);
  for (std::size_t i = 0; i < histogram.weights.size(); ++i) {
    const double share = histogram.weights[i] / all;
    const int lengths = width(histogram, i);
    fixed += share * (histogram.edges[i] + (lengths == 1 ? 1.0 : 0.5));
    if (lengths > 1) widths += share * lengths;
  }
  if (widths == 0) return histogram;
  const double part =
      std::clamp((mean - fixed) / widths, 1 / (1 + skew_most), 1 / (1 + skew_least));
  histogram.skew = 1 / part - 1;
  return histogram;
}

}  // namespace foretoken

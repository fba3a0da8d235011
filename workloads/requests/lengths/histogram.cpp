// Lengths from a histogram, as monitoring keeps them: buckets with their weights, and how lengths
// lie within a bucket. `foretoken traffic` writes it from metrics and traces.
#include <boost/random/uniform_01.hpp>
#include <cmath>

#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/length_histogram.hpp"

namespace foretoken {
namespace {

const Keys<LengthHistogram>& histogram_keys() {
  using S = LengthHistogram;
  static const Keys<S> keys = {
      {"edges",
       &S::edges,
       {.range = not_negative(),
        .unit = "tokens",
        .allowed = "ascending, from 0 on, one more than weights",
        .required = true},
       "Edges of the buckets: bucket i holds lengths above edge i, up to edge i + 1."},
      {"weights",
       &S::weights,
       {.range = not_negative(), .allowed = "0 or more, not all 0", .required = true},
       "How often a length falls into each bucket, in any unit."},
      {"skew",
       &S::skew,
       {.range = between(0.01, 100, "must be from 0.01 to 100"), .quiet = true},
       "Spread of lengths within a bucket: 1 is even, more is nearer to its lower edge."},
  };
  return keys;
}

class HistogramLengths final : public LengthDistribution {
 public:
  explicit HistogramLengths(LengthHistogram histogram) : histogram_(std::move(histogram)) {}

  std::int64_t sample(RandomStream& random, std::size_t) const override {
    boost::random::uniform_01<double> even;
    const double bucket = even(random);
    return histogram_.at(bucket, even(random));
  }
  Value resolved() const override {
    Value table = ValueObject{{"distribution", "histogram"}};
    histogram_keys().write(histogram_, table);
    return table;
  }

 private:
  LengthHistogram histogram_;
};

LengthHistogram read_histogram(TableReader& table) {
  LengthHistogram histogram;
  histogram_keys().read(table, histogram);
  const auto& [edges, weights, skew] = histogram;
  table.expect("edges", edges.size() == weights.size() + 1,
               fmt::format("has {} elements; {} weights need {}", edges.size(), weights.size(),
                           weights.size() + 1));
  table.expect("edges", std::ranges::adjacent_find(edges, std::greater_equal()) == edges.end(),
               "must ascend");
  table.expect("weights", std::ranges::any_of(weights, [](double weight) { return weight > 0; }),
               "must not all be 0");
  return histogram;
}

}  // namespace

LengthRegistry::Entry histogram_lengths() {
  return {"histogram", "buckets with weights, as monitoring keeps lengths",
          [](TableReader& table, const LengthInputs&) {
            return std::make_unique<HistogramLengths>(read_histogram(table));
          },
          histogram_keys().notes()};
}

}  // namespace foretoken

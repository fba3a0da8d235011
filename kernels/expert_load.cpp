#include "kernels/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/expert_draws.hpp"
#include "kernels/expert_placement.hpp"

namespace foretoken {
namespace {

/// Quantiles of the power law that stand for a rank's experts: more experts than this share one.
constexpr int quantiles_max = 64;

/// Expected assignments on the busiest of the ranks: each holds `held` independent draws, whose sum
/// is nearly normal; Cornish and Fisher's term corrects for the skew that few draws keep.
double busiest_share(const PopularityLaw& law, double assignments, int held, int ranks) {
  if (ranks == 1) return assignments;
  const double mean = law.moment(1);
  const double variance = std::max(law.moment(2) - mean * mean, 1e-12);
  const double skew =
      (law.moment(3) - 3 * mean * law.moment(2) + 2 * mean * mean * mean) / std::pow(variance, 1.5);
  double z = expected_maximum(ranks);
  z += (z * z - 1) / 6 * skew / std::sqrt(held);
  const double excess = std::max(z, 0.0) * std::sqrt(variance) / mean / std::sqrt(held);
  const double all_at_high = held * assignments / (double(held) * ranks) * law.high / mean;
  return std::min({assignments, assignments / ranks * (1 + excess), all_at_high});
}

/// Rounded counts of the quantiles, made to add up to `target`.
class RoundedLoads {
 public:
  RoundedLoads(const PopularityLaw& law, int held, double target, double tokens)
      : points_(std::min(held, quantiles_max)), weight_(double(held) / points_) {
    double sum = 0;
    for (int i = 0; i < points_; ++i) {
      counts_[at(i)] = law.quantile((i + 0.5) / points_);
      sum += counts_[at(i)];
    }
    for (int i = 0; i < points_; ++i) {
      counts_[at(i)] = std::round(std::min(counts_[at(i)] / sum * target / weight_, tokens));
      rounded_ += counts_[at(i)] * weight_;
    }
    settle(target, tokens);
  }

  template <class Visitor>
  void visit(const Visitor& visitor) const {
    for (int i = 0; i < points_; ++i) {
      const double filled = i == part_filled_ ? part_ : 0;
      visitor(weight_ - filled, counts_[at(i)]);
      visitor(filled, counts_[at(i)] + 1);
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// What rounding lost goes to the emptiest experts, one each; what it added is taken from the
  /// busiest.
  void settle(double target, double tokens) {
    double missing = target - rounded_;
    for (int i = 0; i < points_ && missing > 0 && counts_[at(i)] == 0; ++i) {
      if (missing < weight_) {
        part_filled_ = i;
        part_ = missing;
        return;
      }
      counts_[at(i)] = 1;
      missing -= weight_;
    }
    if (missing > 0) {
      for (int i = 0; i < points_; ++i) {
        counts_[at(i)] = std::min(counts_[at(i)] + missing / (points_ * weight_), tokens);
      }
    }
    double& largest = counts_[at(points_ - 1)];
    if (missing < 0) largest = std::max(largest + missing / weight_, 1.0);
  }

  int points_;
  double weight_;                               // experts a quantile stands for
  std::array<double, quantiles_max> counts_{};  // ascending
  double rounded_ = 0;
  int part_filled_ = -1;  // quantile of which only `part_` experts got one more
  double part_ = 0;
};

// A visitor is called with (experts, assignments of each) until all of the rank's experts are
// named.

/// The first `assignments % experts` experts have one more than the rest; dealt to the ranks in
/// turn they make rank 0 the busiest.
template <class Visitor>
void visit_balanced(const FusedMoe& kernel, const Visitor& visitor) {
  const std::int64_t assignments = kernel.tokens * kernel.topk;
  const auto held_by_rank_0 = [&](std::int64_t count) {
    return (count + kernel.ep - 1) / kernel.ep;
  };
  const std::int64_t each = assignments / kernel.experts;
  const std::int64_t more = held_by_rank_0(assignments % kernel.experts);
  visitor(static_cast<double>(more), static_cast<double>(each + 1));
  visitor(static_cast<double>(held_by_rank_0(kernel.experts) - more), static_cast<double>(each));
}

template <class Visitor>
void visit_power_law(const FusedMoe& kernel, const Visitor& visitor) {
  const auto tokens = static_cast<double>(kernel.tokens);
  const double assignments = tokens * kernel.topk;
  const int held = (kernel.experts + kernel.ep - 1) / kernel.ep;
  const PopularityLaw law =
      popularity_law(kernel.routing.parameter, kernel.tokens, kernel.topk, kernel.experts);
  // Where even the most popular expert rounds to nothing, assignments are dealt out evenly.
  if (law.high / law.moment(1) * assignments / kernel.experts < 0.5) {
    visit_balanced(kernel, visitor);
    return;
  }
  const double share = std::min(busiest_share(law, assignments, held, kernel.ep), held * tokens);
  RoundedLoads(law, held, std::max(share, std::min(1.0, assignments)), tokens).visit(visitor);
}

ExpertDraws draws_of(const FusedMoe& kernel) {
  return busiest_draws(kernel.routing.parameter, kernel.tokens, kernel.topk, kernel.experts,
                       (kernel.experts + kernel.ep - 1) / kernel.ep, kernel.ep);
}

/// Given counts stay on their ranks (consecutive experts); popular experts of an unknown order are
/// dealt out in turn.
template <class Visitor>
void visit_counted(const FusedMoe& kernel, const Visitor& visitor) {
  const auto counts = expert_counts(kernel.routing, kernel.tokens, kernel.topk, kernel.experts);
  const auto ranks = static_cast<std::size_t>(kernel.ep);
  const std::size_t held = (counts.size() + ranks - 1) / ranks;
  const bool keeps_order = kernel.routing.kind == Routing::Kind::histogram;
  const auto rank_of = [&](std::size_t expert) {
    return keeps_order ? expert / held : expert % ranks;
  };
  std::vector<std::int64_t> sums(ranks);
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    sums[rank_of(expert)] += counts[expert];
  }
  const auto busiest = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    if (rank_of(expert) == busiest) visitor(1.0, static_cast<double>(counts[expert]));
  }
}

template <class Visitor>
void visit_placed(const FusedMoe& kernel, const Visitor& visitor) {
  const auto placed =
      placed_by_load(expert_counts(kernel.routing, kernel.tokens, kernel.topk, kernel.experts),
                     kernel.redundant, kernel.ep);
  const auto load = [](const std::vector<std::int64_t>& rank) {
    return std::accumulate(rank.begin(), rank.end(), std::int64_t{0});
  };
  for (const std::int64_t each : *std::ranges::max_element(placed, {}, load))
    visitor(1.0, static_cast<double>(each));
}

template <class Visitor>
void visit_busiest_rank(const FusedMoe& kernel, const Visitor& visitor) {
  FORETOKEN_CHECK(kernel.experts > 0 && kernel.ep > 0 && kernel.tp > 0, "{} experts, ep {}, tp {}",
                  kernel.experts, kernel.ep, kernel.tp);
  if (kernel.placed_by_load) return visit_placed(kernel, visitor);
  switch (kernel.routing.kind) {
    case Routing::Kind::balanced:
      visit_balanced(kernel, visitor);
      return;
    case Routing::Kind::power_law:
      visit_power_law(kernel, visitor);
      return;
    case Routing::Kind::popularity:
      if (kernel.tokens == 0) return visit_balanced(kernel, visitor);
      draws_of(kernel).visit(visitor);
      return;
    case Routing::Kind::balancedness:
    case Routing::Kind::histogram:
      break;
  }
  visit_counted(kernel, visitor);
}

}  // namespace

double ExpertLoad::tiles_of(int rows) const {
  const auto found = std::ranges::find(moe_tile_rows, rows);
  FORETOKEN_CHECK(found != moe_tile_rows.end(), "no tiles of {} rows are counted", rows);
  return tiles[static_cast<std::size_t>(found - moe_tile_rows.begin())];
}

void ExpertLoad::add(double experts, double each) {
  if (experts <= 0) return;
  held += experts;
  if (each <= 0) return;
  active += experts;
  assignments += experts * each;
  largest = std::max(largest, each);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    tiles[i] += experts * std::ceil(each / moe_tile_rows[i]);
  }
}

ExpertLoad busiest_rank_load(const FusedMoe& kernel) {
  ExpertLoad load;
  visit_busiest_rank(kernel, [&](double experts, double each) { load.add(experts, each); });
  // Visits name what hardly ever comes.
  if (kernel.routing.kind == Routing::Kind::popularity && !kernel.placed_by_load &&
      kernel.tokens > 0)
    load.largest = std::min(draws_of(kernel).largest(), load.largest);
  return load;
}

std::vector<std::int64_t> busiest_rank_rows(const FusedMoe& kernel) {
  std::vector<std::int64_t> rows;
  double named = 0;  // experts so far; those of a quantile need not be a whole number
  visit_busiest_rank(kernel, [&](double experts, double each) {
    named += experts;
    rows.resize(static_cast<std::size_t>(std::llround(named)), std::llround(each));
  });
  return rows;
}

}  // namespace foretoken

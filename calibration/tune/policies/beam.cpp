// Beam search in the manner of GEAK: the `width` fastest kernels are each changed by every strategy
// in turn, then the fastest of all are the next beam.
#include <algorithm>
#include <deque>

#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

class BeamPolicy final : public Policy {
 public:
  BeamPolicy(std::uint64_t seed, int width)
      : random_(RandomStreams(seed).stream("beam")), width_(width) {}

  std::optional<Arm> choose(const Round& round) override {
    while (true) {
      while (!plan_.empty()) {
        const Arm arm = plan_.front();
        plan_.pop_front();
        if (round.available[static_cast<std::size_t>(arm.kernel)]
                           [static_cast<std::size_t>(arm.strategy)]) {
          return arm;
        }
      }
      if (!next_generation(round)) return std::nullopt;
    }
  }
  void learn(const Outcome&, const Pool&) override {}

 private:
  /// Plans every available arm of the beam, a kernel's strategies in seeded order.
  bool next_generation(const Round& round) {
    std::vector<int> order;
    for (std::size_t k = 0; k < round.pool.size(); ++k) {
      if (std::ranges::any_of(round.available[k], [](bool can) { return can; })) {
        order.push_back(static_cast<int>(k));
      }
    }
    std::ranges::stable_sort(order, {},
                             [&](int k) { return round.pool[static_cast<std::size_t>(k)].time; });
    order.resize(std::min(order.size(), static_cast<std::size_t>(width_)));
    for (const int kernel : order) {
      std::vector<Arm> arms;
      for (std::size_t s = 0; s < strategy_count; ++s) {
        if (round.available[static_cast<std::size_t>(kernel)][s]) {
          arms.push_back({kernel, static_cast<Strategy>(s)});
        }
      }
      for (std::size_t i = arms.size(); i > 1; --i) {
        const auto j = static_cast<std::size_t>(uniform(random_) * static_cast<double>(i));
        std::swap(arms[i - 1], arms[j]);
      }
      plan_.insert(plan_.end(), arms.begin(), arms.end());
    }
    return !plan_.empty();
  }

  RandomStream random_;
  int width_;
  std::deque<Arm> plan_;
};

}  // namespace

std::unique_ptr<Policy> make_beam(TableReader& options, const PolicyContext& context) {
  int width = 3;
  options.read("width", width);
  options.expect("width", width >= 1, "must be at least 1");
  return std::make_unique<BeamPolicy>(context.seed, width);
}

}  // namespace foretoken::tune

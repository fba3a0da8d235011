// Every attempt starts from the untouched kernel and takes any strategy: sampling without memory,
// which keeps the best of N. Where the untouched kernel has no arm left (a template has only so
// many neighbours), it goes on from the oldest kernel that has one.
#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

class BestOfNPolicy final : public Policy {
 public:
  explicit BestOfNPolicy(std::uint64_t seed) : random_(RandomStreams(seed).stream("best_of_n")) {}
  std::optional<Arm> choose(const Round& round) override {
    for (std::size_t k = 0; k < round.pool.size(); ++k) {
      std::vector<Arm> arms;
      for (std::size_t s = 0; s < strategy_count; ++s) {
        if (round.available[k][s]) arms.push_back({static_cast<int>(k), static_cast<Strategy>(s)});
      }
      if (!arms.empty()) return any_of(arms, random_);
    }
    return std::nullopt;
  }
  void learn(const Outcome&, const Pool&) override {}

 private:
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Policy> make_best_of_n(TableReader&, const PolicyContext& context) {
  return std::make_unique<BestOfNPolicy>(context.seed);
}

}  // namespace foretoken::tune

// Any available (kernel, strategy), each as likely: what every other policy has to beat.
#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(std::uint64_t seed) : random_(RandomStreams(seed).stream("random")) {}
  std::optional<Arm> choose(const Round& round) override {
    return any_of(available_arms(round), random_);
  }
  void learn(const Outcome&, const Pool&) override {}

 private:
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Policy> make_random(TableReader&, const PolicyContext& context) {
  return std::make_unique<RandomPolicy>(context.seed);
}

}  // namespace foretoken::tune

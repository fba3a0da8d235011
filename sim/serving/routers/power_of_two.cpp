// Two replicas by lot, and of these the one with fewer unfinished requests: nearly as even as
// looking at all of them (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing",
// 2001), and no herd runs to one replica where many routers see the same old figures.

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry power_of_two_router();

namespace {

class PowerOfTwo final : public Router {
 public:
  explicit PowerOfTwo(RandomStream random) : random_(random) {}

  ReplicaId choose(const Request& /*request*/, std::span<const ReplicaStatus> replicas) override {
    const std::size_t first = draw(replicas.size());
    if (replicas.size() == 1) return replicas[first].id;
    std::size_t second = draw(replicas.size() - 1);
    if (second >= first) ++second;
    const bool is_second_less = replicas[second].outstanding < replicas[first].outstanding;
    return replicas[is_second_less ? second : first].id;
  }
  [[nodiscard]] bool sees_engines() const override { return false; }

 private:
  std::size_t draw(std::size_t count) {
    return static_cast<std::size_t>(uniform(random_) * static_cast<double>(count));
  }

  RandomStream random_;
};

}  // namespace

Registry<RouterFactory>::Entry power_of_two_router() {
  return {"power_of_two", "the less loaded of two replicas drawn at random",
          [](TableReader&, const RandomStreams& random) {
            return std::make_unique<PowerOfTwo>(random.stream("router"));
          }};
}

}  // namespace foretoken

// Every request of one length: `prompt_tokens = 512` in a scenario, and what synthetic serving
// benchmarks use.
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

class Fixed final : public LengthDistribution {
 public:
  explicit Fixed(int tokens) : tokens_(tokens) {}

  std::int64_t sample(RandomStream&, std::size_t) const override { return tokens_; }
  Value resolved() const override { return tokens_; }

 private:
  int tokens_;
};

}  // namespace

LengthFactory fixed_lengths() {
  return [](TableReader& table, const LengthInputs&) {
    int tokens = 1;
    table.require("value", tokens);
    table.expect("value", tokens >= 1, "must be at least 1");
    return std::make_unique<Fixed>(tokens);
  };
}

}  // namespace foretoken

// Every request of one length: `prompt_tokens = 512` in a scenario, and what synthetic serving
// benchmarks use.
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

struct FixedConfig {
  int tokens = 1;
};

const Keys<FixedConfig>& fixed_keys() {
  static const Keys<FixedConfig> keys = {
      {"value",
       &FixedConfig::tokens,
       {.range = at_least(1), .unit = "tokens", .required = true},
       "The length; prompt_tokens = 512 is a shorter way to write it."},
  };
  return keys;
}

class Fixed final : public LengthDistribution {
 public:
  explicit Fixed(const FixedConfig& config) : config_(config) {}

  std::int64_t sample(RandomStream&, std::size_t) const override { return config_.tokens; }
  Value resolved() const override { return config_.tokens; }

 private:
  FixedConfig config_;
};

}  // namespace

LengthRegistry::Entry fixed_lengths() {
  return {"fixed", "always the same length",
          [](TableReader& table, const LengthInputs&) {
            FixedConfig config;
            fixed_keys().read(table, config);
            return std::make_unique<Fixed>(config);
          },
          fixed_keys().notes()};
}

}  // namespace foretoken

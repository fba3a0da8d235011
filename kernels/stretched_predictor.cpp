#include "kernels/stretched_predictor.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace foretoken {
namespace {

constexpr std::size_t types = std::variant_size_v<Kernel>;

/// In the order of the variant; "" for collectives.
template <std::size_t... Index>
std::array<std::string_view, types> names_of_types(std::index_sequence<Index...> /*all*/) {
  const auto name = [](const Kernel& kernel) {
    return std::holds_alternative<Collective>(kernel) ? std::string_view() : kernel_name(kernel);
  };
  return {name(Kernel(std::in_place_index<Index>))...};
}

const std::array<std::string_view, types>& type_names() {
  static const auto names = names_of_types(std::make_index_sequence<types>());
  return names;
}

class StretchedPredictor final : public Predictor {
 public:
  StretchedPredictor(std::unique_ptr<Predictor> inner, const std::vector<FamilyStretch>& factors)
      : inner_(std::move(inner)) {
    factors_.fill(1.0);
    for (const auto& [name, factor] : factors) {
      const auto found = std::ranges::find(type_names(), name);
      if (found == type_names().end()) continue;
      factors_[static_cast<std::size_t>(found - type_names().begin())] *= factor;
    }
  }

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    Prediction prediction = inner_->predict(kernel, gpu);
    prediction.time *= factors_[kernel.index()];
    return prediction;
  }

 private:
  std::unique_ptr<Predictor> inner_;
  std::array<double, types> factors_{};
};

}  // namespace

std::vector<std::string_view> predicted_families() {
  std::vector<std::string_view> names(type_names().begin(), type_names().end());
  std::erase(names, "");
  return names;
}

std::unique_ptr<Predictor> stretched(std::unique_ptr<Predictor> inner,
                                     const std::vector<FamilyStretch>& factors) {
  if (factors.empty()) return inner;
  return std::make_unique<StretchedPredictor>(std::move(inner), factors);
}

}  // namespace foretoken

#include "sim/run/catalogs.hpp"

#include "kernels/physical_predictor.hpp"
#include "sim/scenario/variant.hpp"

namespace foretoken {

std::unique_ptr<Predictor> make_predictor(const Registry<PredictorFactory>& predictors,
                                          const std::string& name, const SourcePosition& position) {
  VariantChoice choice{name};
  choice.position = position;
  return within_physics(make_variant(predictors, choice, "predictor"));
}

}  // namespace foretoken

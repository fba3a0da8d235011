// NeuSight, a baseline: the roof of a kernel's waves of tiles over a learned utilisation
// (kernels/estimators/neusight.hpp). What a learned predictor without our features has to say.
#include "kernels/estimators/neusight.hpp"

#include "kernels/estimators/baseline_networks.hpp"
#include "kernels/fallback.hpp"

namespace foretoken {

std::unique_ptr<Predictor> make_neusight(TableReader& options) {
  return make_baseline({"neusight", neusight_family, embedded_neusight()}, options,
                       read_fallback(options, "fallback", Fallback::roofline));
}

}  // namespace foretoken

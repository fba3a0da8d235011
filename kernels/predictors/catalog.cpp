// The built-in predictors: one declaration and one line each.
#include "kernels/predictor.hpp"

namespace foretoken {

std::unique_ptr<Predictor> make_roofline(TableReader& options);

Registry<PredictorFactory> predictor_catalog() {
  Registry<PredictorFactory> catalog("predictor");
  catalog.add("roofline",
              "busiest of tensor, FMA, XU, DRAM and L2 at full rate, plus a launch: an optimistic "
              "bound",
              make_roofline);
  return catalog;
}

}  // namespace foretoken

// The predictor that prices by default.
#pragma once

#include <memory>

#include "kernels/predictor.hpp"

namespace foretoken {

inline std::unique_ptr<Predictor> default_synperf() {
  const Value no_options;
  Diagnostics diagnostics;
  TableReader options(no_options, diagnostics, "predictor");
  return predictor_catalog().find("synperf", {}).make(options);
}

}  // namespace foretoken

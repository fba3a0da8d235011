// The predictor whose prices tests work out by hand.
#pragma once

#include <memory>

#include "kernels/predictor.hpp"

namespace foretoken {

inline std::unique_ptr<Predictor> roofline() {
  Diagnostics diagnostics;
  const Value empty;
  TableReader options(empty, diagnostics, "predictor");
  return predictor_catalog().find("roofline", {}).make(options);
}

}  // namespace foretoken

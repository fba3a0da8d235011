#include "kernels/predictors/fallback.hpp"

namespace foretoken {

std::unique_ptr<Predictor> read_fallback(TableReader& options, std::string_view key,
                                         Fallback usual) {
  options.read(key, usual);
  if (usual == Fallback::none) return nullptr;
  const Value nothing;
  Diagnostics diagnostics;
  TableReader none(nothing, diagnostics, "predictor");
  return predictor_catalog().find(enum_name(usual), {"predictor"}).make(none);
}

}  // namespace foretoken

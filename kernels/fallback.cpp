#include "kernels/fallback.hpp"

namespace foretoken {

std::unique_ptr<Predictor> make_roofline(TableReader& options);
std::unique_ptr<Predictor> make_synperf(TableReader& options);

std::unique_ptr<Predictor> read_fallback(TableReader& options, std::string_view key,
                                         Fallback usual) {
  options.read(key, usual);
  const Value nothing;
  Diagnostics diagnostics;
  TableReader none(nothing, diagnostics, "predictor");
  if (usual == Fallback::none) return nullptr;
  return usual == Fallback::synperf ? make_synperf(none) : make_roofline(none);
}

}  // namespace foretoken

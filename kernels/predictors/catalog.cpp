// The built-in predictors: one declaration and one line each.
#include "kernels/fallback.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

std::unique_ptr<Predictor> make_synperf(TableReader& options);
std::unique_ptr<Predictor> make_synperf_paper(TableReader& options);
std::unique_ptr<Predictor> make_synperf_without_mio(TableReader& options);
std::unique_ptr<Predictor> make_synperf_without_math(TableReader& options);
std::unique_ptr<Predictor> make_synperf_without_network(TableReader& options);
std::unique_ptr<Predictor> make_linear(TableReader& options);
std::unique_ptr<Predictor> make_neusight(TableReader& options);
std::unique_ptr<Predictor> make_roofline(TableReader& options);
std::unique_ptr<Predictor> make_tritonblas(TableReader& options);
std::unique_ptr<Predictor> make_wave(TableReader& options);

Registry<PredictorFactory> predictor_catalog() {
  Registry<PredictorFactory> catalog("predictor");
  catalog.add("synperf",
              "first-order time of the kernel's family, corrected by networks trained on measured "
              "launches; prices unmeasured GPUs from their specification",
              make_synperf);
  catalog.add("roofline",
              "busiest of tensor, FMA, XU, DRAM and L2 at full rate, plus a launch: an optimistic "
              "bound",
              make_roofline);
  catalog.add("linear",
              "least squares on roofline times of math and memory, by kernel family: a baseline",
              make_linear);
  catalog.add("neusight",
              "roofline time of the kernel's waves of tiles over a utilisation learned from tile "
              "and GPU: a baseline",
              make_neusight);
  catalog.add(
      "synperf_paper",
      "SynPerf as published: networks on Table IV over the busiest SM's time; for comparison",
      make_synperf_paper);
  catalog.add("synperf_without_mio", "synperf_paper without memory in time and features: ablation",
              make_synperf_without_mio);
  catalog.add("synperf_without_math", "synperf_paper without math in time and features: ablation",
              make_synperf_without_math);
  catalog.add("synperf_without_network", "the busiest SM's time of synperf_paper alone: ablation",
              make_synperf_without_network);
  catalog.add("tritonblas",
              "GEMMs by an analytic model of tiles and caches, with the tile that it selects "
              "itself; `others` prices the rest",
              make_tritonblas);
  catalog.add("wave",
              "waves of resident CTAs, busiest SM, memory and launches, linear in constants fitted "
              "to each framework's kernels (RaMP's model); `dispatch` shows what experts gain from "
              "a configuration chosen by the step's routing",
              make_wave);
  return catalog;
}

std::unique_ptr<Predictor> read_fallback(TableReader& options, std::string_view key,
                                         Fallback usual) {
  options.read(key, usual);
  if (usual == Fallback::none) return nullptr;
  const Value nothing;
  Diagnostics diagnostics;
  TableReader none(nothing, diagnostics, "predictor");
  return usual == Fallback::synperf ? make_synperf(none) : make_roofline(none);
}

}  // namespace foretoken

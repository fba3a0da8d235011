// SynPerf as its paper has it (kernels/estimators/paper_family.hpp) and the paper's ablations:
// without memory, without math, and T without any network.
#include "kernels/estimators/baseline_networks.hpp"
#include "kernels/estimators/paper_family.hpp"
#include "kernels/fallback.hpp"

namespace foretoken {
namespace {

std::function<const EstimatorFamily&(const EstimatorFamily&)> seen_as(PaperVariant variant) {
  return [variant](const EstimatorFamily& family) -> const EstimatorFamily& {
    return paper_family(family, variant);
  };
}

std::unique_ptr<Predictor> make_on_paper(std::string_view name, PaperVariant variant,
                                         std::optional<std::span<const EmbeddedFile>> embedded,
                                         TableReader& options) {
  return make_baseline({std::string(name), seen_as(variant), embedded}, options,
                       read_fallback(options, "fallback", Fallback::roofline));
}

std::unique_ptr<Predictor> make_variant_of(PaperVariant variant,
                                           std::span<const EmbeddedFile> embedded,
                                           TableReader& options) {
  return make_on_paper(paper_name(variant), variant, embedded, options);
}

}  // namespace

std::unique_ptr<Predictor> make_synperf_paper(TableReader& options) {
  return make_variant_of(PaperVariant::whole, embedded_paper(), options);
}

std::unique_ptr<Predictor> make_synperf_without_mio(TableReader& options) {
  return make_variant_of(PaperVariant::without_mio, embedded_paper_without_mio(), options);
}

std::unique_ptr<Predictor> make_synperf_without_math(TableReader& options) {
  return make_variant_of(PaperVariant::without_math, embedded_paper_without_math(), options);
}

std::unique_ptr<Predictor> make_synperf_without_network(TableReader& options) {
  return make_on_paper("synperf_without_network", PaperVariant::whole, {}, options);
}

}  // namespace foretoken

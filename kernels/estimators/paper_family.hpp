// The network of SynPerf's paper as estimator families: T is the larger of the busiest SM's math
// and the compulsory bytes, and the launches' latency; the features are Table IV as it stands
// (log1p; the trainer standardises), one network a family. Every number comes from decompose,
// schedule and analyze. The paper does not say what T is; without the latency its networks are
// twice as far off (calibration/ACCURACY.md).
#pragma once

#include <array>
#include <span>

#include "kernels/estimators/estimator.hpp"
#include "sim/base/embedded.hpp"

namespace foretoken {

/// What the network knows of a kernel. without_mio and without_math leave a side out of both the
/// features and T.
enum class PaperVariant { whole, without_mio, without_math };
inline constexpr auto paper_variants = std::to_array<PaperVariant>(
    {PaperVariant::whole, PaperVariant::without_mio, PaperVariant::without_math});

/// `family` (one of estimator_families()) as the paper has it. first_order() and features() throw
/// PredictionError for a kernel without decomposer. Not for use from several threads at once.
const EstimatorFamily& paper_family(const EstimatorFamily& family, PaperVariant variant);

/// The trained networks inside the program, calibration/artifacts/baselines/<paper_name>/*.json.
std::span<const EmbeddedFile> embedded_paper();
std::span<const EmbeddedFile> embedded_paper_without_mio();
std::span<const EmbeddedFile> embedded_paper_without_math();

/// The predictor of that variant: "synperf_paper", "synperf_without_mio", "synperf_without_math".
std::string_view paper_name(PaperVariant variant);

}  // namespace foretoken

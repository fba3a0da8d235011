// The network of SynPerf's paper as estimator families, to be compared with: T is the larger of the
// busiest SM's math and the compulsory bytes, the features are Table IV as it stands (log1p; the
// trainer standardises), one network a family. Not shipped: `foretoken-calibrate evaluate` trains
// it, and with it the paper's ablations.
#pragma once

#include "kernels/estimator.hpp"

namespace foretoken {

/// What the network knows of a kernel. without_mio and without_math leave a side out of both the
/// features and T.
enum class PaperVariant { whole, without_mio, without_math };

/// `family` (one of estimator_families()) as the paper has it. T is at least a nanosecond.
const EstimatorFamily& paper_family(const EstimatorFamily& family, PaperVariant variant);

}  // namespace foretoken

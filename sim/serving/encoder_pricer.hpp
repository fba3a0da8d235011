// What encoding images adds to a step: the encoder's kernels over all images that the step encodes,
// before the language model's, priced by the same predictor. Its collectives are priced in closed
// form, uncontended.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "sim/serving/stage_pricer.hpp"
#include "workloads/encoder_kernels.hpp"

namespace foretoken {

struct EncoderPrice {
  Seconds time;
  std::int64_t launches = 0;
  std::array<std::int64_t, EnumNames<Origin>::names.size()> by_origin{};  // of these
};

class EncoderPricer {
 public:
  /// `links` are the tensor-parallel group's. References must outlive the pricer.
  EncoderPricer(const VisionEncoder& vision, const ParallelLayout& layout,
                const ExecutionSettings& execution, const GroupLinks& links,
                const CommSettings& comm, const MemoPredictor& predictor)
      : vision_(vision),
        layout_(layout),
        execution_(execution),
        links_(links),
        comm_(comm),
        predictor_(predictor) {}

  /// Of images, at least one, that one attention rank encodes in a step.
  EncoderPrice price(std::span<const ImagePatches> images);
  /// A step took that long for its images.
  void add(const EncoderPrice& price);

  /// Adds all steps to `totals`, their time as one family "encoder".
  void add_to(PriceTotals& totals) const;

 private:
  const VisionEncoder& vision_;
  const ParallelLayout& layout_;
  const ExecutionSettings& execution_;
  GroupLinks links_;
  const CommSettings& comm_;
  const MemoPredictor& predictor_;
  std::map<std::vector<ImagePatches>, EncoderPrice> known_;  // by images in order of size
  EncoderPrice total_;
};

}  // namespace foretoken

// What encoding images and audio adds to a step: the encoders' kernels over all that the step
// encodes, before the language model's, priced by the same predictor. Their collectives are priced
// in closed form, uncontended.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "kernels/memo_predictor.hpp"
#include "sim/serving/stage_price.hpp"
#include "workloads/encoder_kernels.hpp"

namespace foretoken {

struct EncoderPrice {
  Seconds time;
  std::array<Seconds, all_media.size()> time_by{};  // of it, by Medium
  std::int64_t launches = 0;
  std::array<std::int64_t, EnumNames<Origin>::names.size()> by_origin{};  // of these
};

/// What the time of an encoder is called among those of kernels.
constexpr std::string_view encoder_family(Medium medium) {
  return medium == Medium::image ? "encoder" : "audio_encoder";
}

class EncoderPricer {
 public:
  /// `links` are the tensor-parallel group's. References must outlive the pricer.
  EncoderPricer(const Transformer& model, const ParallelLayout& layout,
                const ExecutionSettings& execution, const GroupLinks& links,
                const CommSettings& comm, const MemoPredictor& predictor)
      : model_(model),
        layout_(layout),
        execution_(execution),
        links_(links),
        comm_(comm),
        predictor_(predictor) {}

  /// Of images and clips, at least one, that one attention rank encodes in a step.
  EncoderPrice price(std::span<const MediaPatches> items);
  /// A step took that long for encoding.
  void add(const EncoderPrice& price);

  /// Adds all steps to `totals`, their time as families "encoder" (of images) and "audio_encoder".
  void add_to(PriceTotals& totals) const;

 private:
  void add_kernels(Medium medium, std::span<const MediaPatches> items, EncoderPrice& price) const;

  const Transformer& model_;
  const ParallelLayout& layout_;
  const ExecutionSettings& execution_;
  GroupLinks links_;
  const CommSettings& comm_;
  const MemoPredictor& predictor_;
  std::map<std::vector<MediaPatches>, EncoderPrice> known_;  // by what is encoded, in order of size
  EncoderPrice total_;
};

}  // namespace foretoken

// Which configuration of a fused mixture-of-experts kernel a step should run with: every one's time
// from the step's histogram, and the least. What serving frameworks do instead, choosing by the
// number of tokens, stands beside it.
//
// On a GPU with a wave profile (wave_profile.hpp) times are its; on others the same waves are
// priced from the specification (wave_analytic.hpp), in a pool of the tiles that fit it and that
// the layer's performance region advises (moe_region.hpp).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/predictor.hpp"
#include "kernels/tiles/wave_profile.hpp"

namespace foretoken {

/// fixed: "static", what vLLM and SGLang do: a table tuned with experts alike at the batch sizes of
/// vLLM's tuner (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096),
/// its nearest entry. bucket: the same with an entry a power of two, Triton's lookup as RaMP
/// describes it (Section III, approach 1). Both are one thing at powers of two up to 4,096, which
/// is all that RaMP's and our grids measure. routing_aware: by the histogram.
enum class DispatchPolicy { fixed, bucket, routing_aware };
template <>
struct EnumNames<DispatchPolicy> {
  static constexpr auto names =
      std::to_array<std::string_view>({"static", "bucket", "routing_aware"});
};

/// measured: constants of this very layer; learned: of other layers on this GPU; analytic: from the
/// specification.
struct DispatchSource {
  Origin origin = Origin::analytic;
  std::string layer;          // name of the profiled layer, if it is one
  double expected_error = 0;  // relative, of a predicted time; 0 = not known
};

/// On a GPU that nobody measured. advised: of the configurations that fit, those that RaMP's
/// regions leave (advised_pool); whole: all of them, to see what the advice costs. Where times were
/// measured the contenders are what came near the best, which says more: `foretoken-calibrate
/// evaluate --wave` prints both.
enum class MoePool { advised, whole };

class MoeDispatcher {
 public:
  /// Throws PredictionError where the GPU has no tensor path for the format.
  MoeDispatcher(const MoeLayer& layer, const GpuSpec& gpu, MoePool pool = MoePool::advised);
  /// With a profile of one's own, of this GPU and the layer's format.
  MoeDispatcher(const MoeLayer& layer, const GpuSpec& gpu, const WaveProfile& profile);
  /// With constants at hand; `residual` is empty or has weights for each tile.
  MoeDispatcher(const MoeLayer& layer, const GpuSpec& gpu, std::span<const MoeTile> tiles,
                std::span<const WaveConstants> constants, DispatchSource source,
                const WaveResidual& residual = {});
  ~MoeDispatcher();
  MoeDispatcher(MoeDispatcher&&) noexcept;
  MoeDispatcher& operator=(MoeDispatcher&&) noexcept;

  [[nodiscard]] const DispatchSource& source() const { return source_; }
  [[nodiscard]] std::span<const MoeTile> tiles() const { return tiles_; }
  /// How many configurations there were before the advice.
  [[nodiscard]] std::size_t whole_pool() const { return whole_pool_; }

  /// Microseconds of each of tiles(), in their order. `histogram`: assignments of each of the
  /// layer's experts, at least one above 0. The span is good until the next call.
  std::span<const float> times_us(std::span<const std::int64_t> histogram);
  /// The index of the least time; the first among equals.
  std::size_t choose(std::span<const std::int64_t> histogram);

 private:
  struct Linear;
  std::span<const float> linear_times(const RoutedStep& step);

  MoeLayer layer_;
  GpuSpec gpu_;
  DispatchSource source_;
  std::vector<MoeTile> tiles_;
  std::size_t whole_pool_ = 0;
  std::vector<int> heights_;
  std::vector<std::size_t> height_of_;  // a tile
  std::vector<TiledLayer> tiled_;       // a tile
  std::unique_ptr<Linear> linear_;      // null: analytic
  std::vector<float> times_;
};

/// `assignments` over `experts` as evenly as whole numbers go.
std::vector<std::int64_t> even_histogram(std::int64_t assignments, int experts);

/// The number of tokens whose tuned configuration a policy takes: the nearest of its table, the
/// smaller one where two are as near; `tokens` themselves for routing_aware.
std::int64_t tuned_tokens(DispatchPolicy policy, std::int64_t tokens);

/// RaMP's finer buckets: twice as many entries, powers of two and one and a half times those.
std::int64_t finer_bucket(std::int64_t tokens);

/// The configuration of a table tuned at `tuned` tokens with experts alike, for a step of `tokens`.
std::size_t tuned_choice(MoeDispatcher& dispatcher, std::span<const std::int64_t> histogram,
                         std::int64_t tokens, std::int64_t tuned);

/// The configuration that a policy takes for a step of `tokens` tokens with this histogram.
/// Evenness is over the layer's experts; fewer assignments than tokens x topk (other ranks have the
/// rest) scale with the tokens.
std::size_t dispatched(MoeDispatcher& dispatcher, DispatchPolicy policy,
                       std::span<const std::int64_t> histogram, std::int64_t tokens);

}  // namespace foretoken

// tritonBLAS's promise: the tile of a matrix product without running it. A selector holds what does
// not change with the product (GPU, format, model, candidates), ranks the candidates by the model's
// latency and remembers its answers.
//
//   const TileSelector selector(load_gpu("b200-sxm", {}), DType::bf16);
//   const TileChoice choice = selector.select(4096, 4096, 4096);   // choice.tile, choice.time
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/tiles/tile_candidates.hpp"
#include "kernels/tiles/tile_search.hpp"

namespace foretoken {

/// What prices and selects unless somebody names another: our own on NVIDIA parts; on AMD parts,
/// whose Triton nobody fitted it to, the published model that was made there.
std::string_view default_tile_model(GpuVendor vendor);

struct TileChoice {
  ProductTile tile;
  TileLatency latency;
  Seconds time;  // latency.total at the machine's clock
};

class TileSelector {
 public:
  /// `model` "" is the default. Throws ConfigError for an unknown model, PredictionError where the
  /// GPU has no tensor path for `dtype`.
  TileSelector(const GpuSpec& gpu, DType dtype, std::string_view model = "",
               const TileMachineOptions& options = {});

  /// The best tile. Sizes at least 1. Remembered: the same product costs a hash lookup the second
  /// time. Not for use from several threads at once.
  [[nodiscard]] const TileChoice& select(std::int64_t m, std::int64_t n, std::int64_t k) const;

  /// The same without memory, for any product in this format.
  [[nodiscard]] TileChoice select_cold(const TiledProduct& product) const;

  /// The `count` best, best first; ties as select() breaks them.
  [[nodiscard]] std::vector<TileChoice> ranked(const TiledProduct& product,
                                               std::size_t count) const;

  /// A tile of somebody else's choice, priced.
  [[nodiscard]] TileChoice priced(const TiledProduct& product, const ProductTile& tile) const;

  [[nodiscard]] const TileMachine& machine() const { return machine_; }
  [[nodiscard]] const TileModel& model() const { return *model_; }
  [[nodiscard]] const std::string& model_name() const { return model_name_; }
  [[nodiscard]] const std::vector<ProductTile>& candidates() const { return candidates_; }

 private:
  struct Hash {
    std::size_t operator()(const TiledProduct& product) const;
  };

  std::string model_name_;
  TileMachine machine_;
  std::unique_ptr<TileModel> model_;
  TiledProduct format_;  // element sizes
  std::vector<ProductTile> candidates_;
  std::unique_ptr<TileSearch> search_;
  mutable std::unordered_map<TiledProduct, TileChoice, Hash> known_;
};

}  // namespace foretoken

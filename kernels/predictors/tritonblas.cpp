// tritonBLAS: matrix products priced by an analytic model of tiles and caches, with the tile that
// the model itself selects or one that is given. It asks for no measurement of the GPU, and says
// what an untuned Triton kernel takes; cuBLAS chooses otherwise. With a pool of tiles that were
// tuned and measured it says what that kernel takes.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "kernels/fallback.hpp"
#include "kernels/tiles/tile_pool.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {

namespace {

struct TritonBlasConfig {
  std::string model;                // "": by the GPU's vendor
  std::optional<ProductTile> tile;  // none: the best by the model
  std::optional<TilePool> pool;     // of a kernel of the user's, for its GPU and format
  PoolUse pool_use = PoolUse::only;

  static TritonBlasConfig from_table(TableReader& options) {
    TritonBlasConfig config;
    if (options.read("model", config.model)) {
      std::ranges::replace(config.model, '-', '_');
      std::vector<std::string_view> models;
      const auto catalog = tile_model_catalog();
      for (const auto& entry : catalog.entries()) models.push_back(entry.name);
      options.expect("model", std::ranges::find(models, config.model) != models.end(),
                     unknown_name_message("tile model", config.model, models), Mistake::slip);
    }
    std::string text;
    if (options.read("tile", text)) {
      config.tile = parse_tile(text);
      options.expect("tile", config.tile.has_value(),
                     "must be sizes as in \"128x256x64\": rows, columns, depth");
    }
    if (options.read("pool", text)) {
      options.expect("pool", !config.tile, "chooses the tile; omit 'tile'");
      options.diagnostics().attempt([&] { config.pool = load_tile_pool(text); });
    }
    if (options.read("pool_use", config.pool_use)) {
      options.expect("pool_use", options.find("pool") != nullptr, "needs a pool");
    }
    return config;
  }
};

Bound bound_of(const TileChoice& choice, Seconds launch) {
  const TileLatency& latency = choice.latency;
  if (launch > choice.time) return Bound::launch;
  const double slowest =
      std::max({latency.math, latency.shared, latency.l2, latency.mall, latency.dram});
  if (slowest <= latency.math) return Bound::tensor;
  if (slowest <= latency.shared) return Bound::shared;
  return slowest <= std::max(latency.l2, latency.mall) ? Bound::l2 : Bound::dram;
}

class TritonBlas final : public Predictor {
 public:
  TritonBlas(TritonBlasConfig config, std::unique_ptr<Predictor> others)
      : config_(std::move(config)), others_(std::move(others)) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    if (const auto* gemm = std::get_if<Gemm>(&kernel)) {
      return price(tiled_product(*gemm), gemm->dtype, gpu);
    }
    if (const auto* batched = std::get_if<BatchedGemm>(&kernel)) {
      return price(tiled_product(*batched), batched->dtype, gpu);
    }
    if (others_ != nullptr) return others_->predict(kernel, gpu);
    throw PredictionError(
        fmt::format("{}: tritonblas prices GEMMs only; set others = \"synperf\" for the rest",
                    kernel_name(kernel)));
  }

 private:
  [[nodiscard]] Prediction price(const TiledProduct& product, DType dtype,
                                 const GpuSpec& gpu) const {
    const TileSelector& selector = selector_of(gpu, dtype);
    if (config_.pool) {
      if (const PooledTiles* const pool = pool_of(gpu, dtype, selector)) {
        return price_pooled(*pool, product, gpu);
      }
    }
    const TileChoice choice =
        config_.tile ? selector.priced(product, with_default_pipeline(product, *config_.tile,
                                                                      selector.machine()))
                     : selector.select_cold(product);
    const Seconds time = std::max(choice.time, gpu.launch_latency);
    return {time, bound_of(choice, gpu.launch_latency), Origin::analytic};
  }

  /// The user's pool where it counts; nullptr for another format. Throws PredictionError for
  /// another GPU.
  [[nodiscard]] const PooledTiles* pool_of(const GpuSpec& gpu, DType dtype,
                                           const TileSelector& selector) const {
    if (gpu.name != config_.pool->gpu) {
      throw PredictionError(fmt::format("{}: the tiles were measured on {}, not on {}",
                                        config_.pool->file, config_.pool->gpu, gpu.name));
    }
    if (!config_.pool->covers(gpu, dtype)) return nullptr;
    const auto [entry, added] = pools_.try_emplace(std::tuple(gpu.name, gpu.file, dtype));
    if (added) entry->second = std::make_unique<PooledTiles>(*config_.pool, selector);
    return entry->second.get();
  }

  [[nodiscard]] Prediction price_pooled(const PooledTiles& pool, const TiledProduct& product,
                                        const GpuSpec& gpu) const {
    const PooledTiles::Choice best = pool.ranked(product, config_.pool_use, 1).front();
    Prediction prediction{std::max(best.choice.time, gpu.launch_latency),
                          bound_of(best.choice, gpu.launch_latency), best.origin()};
    if (best.origin() == Origin::adapted && pool.held_out()) {
      prediction.expected_error = pool.held_out()->time_error;
    }
    return prediction;
  }

  /// One for each GPU and format that was asked for; GPUs are told apart by name and file.
  [[nodiscard]] const TileSelector& selector_of(const GpuSpec& gpu, DType dtype) const {
    const auto key = std::tuple(gpu.name, gpu.file, dtype);
    const auto known = selectors_.find(key);
    if (known != selectors_.end()) return *known->second;
    auto made = std::make_unique<TileSelector>(gpu, dtype, config_.model);
    return *selectors_.emplace(key, std::move(made)).first->second;
  }

  TritonBlasConfig config_;
  std::unique_ptr<Predictor> others_;  // null: there are none
  using Key = std::tuple<std::string, std::string, DType>;
  mutable std::map<Key, std::unique_ptr<TileSelector>> selectors_;
  mutable std::map<Key, std::unique_ptr<PooledTiles>> pools_;
};

}  // namespace

std::unique_ptr<Predictor> make_tritonblas(TableReader& options) {
  TritonBlasConfig config = TritonBlasConfig::from_table(options);
  auto others = read_fallback(options, "others", Fallback::synperf);
  return std::make_unique<TritonBlas>(std::move(config), std::move(others));
}

}  // namespace foretoken

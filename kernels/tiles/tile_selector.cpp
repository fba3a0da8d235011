#include "kernels/tiles/tile_selector.hpp"

#include <algorithm>

namespace foretoken {

std::string_view default_tile_model(GpuVendor vendor) {
  return vendor == GpuVendor::amd ? "origami_2025" : "foretoken_2026";
}

std::size_t TileSelector::Hash::operator()(const TiledProduct& product) const {
  // Sizes are what differs; odd multipliers spread them (MurmurHash3's finaliser constants).
  auto mixed = static_cast<std::uint64_t>(product.m) * 0xff51afd7ed558ccdULL;
  mixed = (mixed ^ (mixed >> 32) ^ static_cast<std::uint64_t>(product.n)) * 0xc4ceb9fe1a85ec53ULL;
  mixed = (mixed ^ (mixed >> 32) ^ static_cast<std::uint64_t>(product.k)) * 0xff51afd7ed558ccdULL;
  return static_cast<std::size_t>(mixed ^ (mixed >> 32) ^
                                  static_cast<std::uint64_t>(product.batch));
}

TileSelector::TileSelector(const GpuSpec& gpu, DType dtype, std::string_view model,
                           const TileMachineOptions& options)
    : model_name_(model.empty() ? default_tile_model(gpu.vendor) : model),
      machine_(tile_machine(gpu, dtype, options)),
      model_(make_tile_model(model_name_, {"--model"})),
      format_(tiled_product(1, 1, 1, dtype)),
      candidates_(model_->knows_pipelines() ? pipelined_candidates(format_, machine_)
                                            : tile_candidates(format_, machine_)),
      search_(model_->search(format_, candidates_, machine_)) {}

TileChoice TileSelector::priced(const TiledProduct& product, const ProductTile& tile) const {
  const TileLatency latency = model_->latency(product, tile, machine_);
  return {tile, latency, Seconds(latency.total / machine_.clock)};
}

TileChoice TileSelector::select_cold(const TiledProduct& product) const {
  return priced(product, model_->finished(product, search_->best(product), machine_));
}

const TileChoice& TileSelector::select(std::int64_t m, std::int64_t n, std::int64_t k) const {
  TiledProduct product = format_;
  product.m = m;
  product.n = n;
  product.k = k;
  const auto known = known_.find(product);
  if (known != known_.end()) return known->second;
  return known_.emplace(product, select_cold(product)).first->second;
}

std::vector<TileChoice> TileSelector::ranked(const TiledProduct& product, std::size_t count) const {
  struct Ranked {
    ProductTile tile;
    double cycles;
  };
  std::vector<Ranked> all;
  for (const ProductTile& candidate : candidates_) {
    const ProductTile tile = model_->prepared(product, candidate, machine_);
    all.push_back({tile, model_->rank_cycles(product, tile, machine_)});
  }
  std::ranges::stable_sort(all, {}, &Ranked::cycles);
  std::vector<TileChoice> choices = {select_cold(product)};
  for (const Ranked& next : all) {
    if (choices.size() >= count) break;
    const TileChoice choice = priced(product, model_->finished(product, next.tile, machine_));
    if (!(choice.tile == choices.front().tile)) choices.push_back(choice);
  }
  return choices;
}

}  // namespace foretoken

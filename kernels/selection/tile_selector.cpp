#include "kernels/selection/tile_selector.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr std::size_t candidates_max = 1024;

/// Multiply-adds for the bytes of operands and result, in elements as Origami counts them.
double arithmetic_intensity(const ProductTile& tile) {
  const double m = tile.m, n = tile.n, k = tile.k;
  return 2 * m * n * k / (m * k + n * k + m * n);
}

}  // namespace

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
                                            : tile_candidates(format_, machine_)) {
  FORETOKEN_CHECK(candidates_.size() <= candidates_max, "{} tiles", candidates_.size());
}

TileChoice TileSelector::priced(const TiledProduct& product, const ProductTile& tile) const {
  const TileLatency latency = model_->latency(product, tile, machine_);
  return {tile, latency, Seconds(latency.total / machine_.clock)};
}

TileChoice TileSelector::select_cold(const TiledProduct& product) const {
  std::array<double, candidates_max> cycles;
  double best_cycles = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    cycles[i] =
        model_->rank_cycles(product, model_->prepared(product, candidates_[i], machine_), machine_);
    best_cycles = std::min(best_cycles, cycles[i]);
  }
  const double tied_up_to = best_cycles + model_->tie_cycles();
  const ProductTile* best = nullptr;
  double best_intensity = -1;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!(cycles[i] <= tied_up_to)) continue;
    const double intensity = arithmetic_intensity(candidates_[i]);
    if (intensity > best_intensity) {
      best = &candidates_[i];
      best_intensity = intensity;
    }
  }
  FORETOKEN_CHECK(best != nullptr, "a tile model gave no number");
  const ProductTile tile = model_->prepared(product, *best, machine_);
  return priced(product, model_->finished(product, tile, machine_));
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

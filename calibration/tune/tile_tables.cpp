#include "calibration/tune/tile_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "calibration/tune/reward.hpp"
#include "hardware/gpu.hpp"
#include "kernels/tiles/tile_pool.hpp"

namespace foretoken::tune {
namespace {

/// The specification that a recording's GPU is: its name, or a driver's ("NVIDIA H200").
std::optional<GpuSpec> spec_named(const std::string& gpu) {
  for (const std::string& name : gpu_names()) {
    GpuSpec spec = load_gpu(name, {});
    if (name == gpu || spec.title.starts_with(gpu)) return spec;
  }
  return std::nullopt;
}

GpuSpec spec_of(const std::string& gpu) {
  if (auto spec = spec_named(gpu)) return std::move(*spec);
  throw ConfigError({}, fmt::format("the recording's GPU, '{}', is none of `foretoken gpu list`: "
                                    "tiles are kept by specification",
                                    gpu));
}

std::int64_t size_in(const Value& shape, std::string_view key) {
  return std::get<std::int64_t>(shape.find(key)->data);
}

std::string word_in(const Value& shape, std::string_view key) {
  const Value* const found = shape.find(key);
  return found == nullptr ? "bf16" : std::get<std::string>(found->data);
}

std::string header(std::string_view format, const std::string& gpu) {
  const GpuSpec spec = spec_of(gpu);
  return fmt::format(
      "# format: {}\n# program: foretoken-tune\n# gpu: {}\n# gpu_spec: {}\n"
      "# sm_count: {}\n# method: warm, median of five replays of a CUDA graph; the "
      "fastest implementation of each tile\n",
      format, spec.title, spec.name, spec.sm_count);
}

std::string product_rows(const Problem& problem, const std::vector<TiledTimes>& tiles) {
  std::string text =
      "class,m,n,k,library,block_m,block_n,block_k,warps,stages,group_m,split_k,screen_us,time_"
      "us\n";
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Value shape = serving_case(problem, i);
    for (const TiledTimes& one : tiles) {
      const Tile& t = one.tile;
      text += fmt::format("tuned,{},{},{},{},{},{},{},{},{},{},{},,{:.5g}\n", size_in(shape, "m"),
                          size_in(shape, "n"), size_in(shape, "k"), problem.name, t.m, t.n, t.k,
                          t.warps, t.stages, t.group_m, t.split_k, one.seconds[i] * 1e6);
    }
  }
  return text;
}

std::string histogram_cell(const Value& shape) {
  std::string text;
  for (const Value& count : std::get<ValueArray>(shape.find("histogram")->data)) {
    text += fmt::format("{}{}", text.empty() ? "" : "|", std::get<std::int64_t>(count.data));
  }
  return text;
}

std::string expert_rows(const Problem& problem, const std::vector<TiledTimes>& tiles) {
  std::string text =
      "architecture,tokens,experts,topk,hidden,intermediate,dtype,histogram,block_m,block_n,"
      "block_k,group_m,split_k,warps,stages,time_us\n";
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Value shape = serving_case(problem, i);
    if (shape.find("histogram") == nullptr) {
      throw ConfigError(problem.serving->position,
                        "experts need a histogram: say in `serves` how they are drawn");
    }
    const auto size = [&](std::string_view key) { return size_in(shape, key); };
    const std::string layer = fmt::format(
        "e{} h{} i{},{},{},{},{},{},{},{}", size("experts"), size("hidden"), size("intermediate"),
        size("tokens"), size("experts"), size("topk"), size("hidden"), size("intermediate"),
        word_in(shape, "dtype"), histogram_cell(shape));
    for (const TiledTimes& one : tiles) {
      const Tile& t = one.tile;
      text += fmt::format("{},{},{},{},{},{},{},{},{:.5g}\n", layer, t.m, t.n, t.k, t.group_m,
                          t.split_k, t.warps, t.stages, one.seconds[i] * 1e6);
    }
  }
  return text;
}

}  // namespace

std::vector<TiledTimes> fastest_by_tile(const Problem& problem,
                                        std::span<const LogEntry* const> entries,
                                        std::span<const double> reference) {
  std::map<std::string, State> states;
  for (State& state : all_states(problem)) states.emplace(text_of(problem, state), state);
  std::map<Tile, const LogEntry*> fastest;
  const auto speedup = [&](const LogEntry& entry) {
    return weighted_speedup(reference, entry.evaluation.seconds);
  };
  for (const LogEntry* entry : entries) {
    const auto state = states.find(entry->parameters);
    if (state == states.end()) continue;  // a candidate from outside, or of an older template
    const auto [at, is_new] = fastest.try_emplace(tile_at(problem, state->second), entry);
    if (!is_new && speedup(*entry) > speedup(*at->second)) at->second = entry;
  }
  std::vector<TiledTimes> tiles;
  for (const auto& [tile, entry] : fastest) {
    tiles.push_back({tile, entry->evaluation.seconds, entry->parameters});
  }
  if (tiles.empty()) throw ConfigError({}, "no point of the template of " + problem.name);
  return tiles;
}

std::vector<TiledTimes> contenders(const std::vector<TiledTimes>& tiles, double margin) {
  std::vector<TiledTimes> kept;
  std::vector<double> best(tiles.front().seconds.size(), std::numeric_limits<double>::infinity());
  for (const TiledTimes& one : tiles) {
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], one.seconds[i]);
  }
  for (const TiledTimes& one : tiles) {
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (one.seconds[i] > best[i] * (1 + margin)) continue;
      kept.push_back(one);
      break;
    }
  }
  return kept;
}

std::string gpu_note(const std::string& gpu) {
  const auto spec = spec_named(gpu);
  return spec && spec->name == gpu ? "gpu_spec: " + gpu : "gpu: " + gpu;
}

std::string table_text(const Problem& problem, const std::string& gpu,
                       const std::vector<TiledTimes>& tiles) {
  if (problem.serving->kernel == "gemm") {
    return header("foretoken gemm tiles 1", gpu) + product_rows(problem, tiles);
  }
  if (problem.serving->kernel == "fused_moe") {
    return header("foretoken moe grid 1", gpu) + expert_rows(problem, tiles);
  }
  throw ConfigError(problem.serving->position,
                    fmt::format("no model chooses tiles of {}", problem.serving->kernel));
}

std::string pool_text(const Problem& problem, const std::string& gpu,
                      const std::vector<TiledTimes>& tiles) {
  if (problem.serving->kernel != "gemm") {
    throw ConfigError(
        problem.serving->position,
        "pools are for GEMMs; export experts --as tiles for `foretoken-calibrate fit wave`");
  }
  TilePool pool;
  pool.kernel = problem.name;
  pool.gpu = spec_of(gpu).name;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Value shape = serving_case(problem, i);
    pool.dtype = parse_enum<DType>(word_in(shape, "dtype")).value_or(DType::bf16);
    pool.shapes.push_back(
        tiled_product(size_in(shape, "m"), size_in(shape, "n"), size_in(shape, "k"), pool.dtype));
  }
  for (const TiledTimes& one : tiles) {
    const Tile& t = one.tile;
    PooledTile& pooled = pool.tiles.emplace_back();
    pooled.tile = {t.m, t.n, t.k, t.warps, t.stages, t.group_m, t.split_k};
    pooled.parameters = one.parameters;
    // Whole nanoseconds: finer than anybody timed.
    for (const double seconds : one.seconds) {
      pooled.times_us.push_back(std::round(seconds * 1e9) / 1e3);
    }
  }
  return write_tile_pool(pool, {{"made_by", "foretoken-tune export"}});
}

}  // namespace foretoken::tune

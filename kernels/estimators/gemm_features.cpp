// What the network sees of a matrix product: T, the shares of its parts, how tiles of several sizes
// would fill the GPU, edges, and the shape. Ratios only: raw rates of a GPU (or their quotients, as
// the ridge point) would tell the network which GPU it is, and what it then learns by heart does
// not carry over to others: without them bf16 on a GPU left out went from 10.6 to 9.8 % (boosted
// trees, mean of five GPUs).
#include <algorithm>
#include <cmath>

#include "kernels/estimators/gemm_model.hpp"
#include "kernels/estimators/task_features.hpp"

namespace foretoken {
namespace {

struct Tile {
  const char* name;
  double m, n;
};
constexpr auto filled = std::to_array<Tile>(
    {{"64x64", 64, 64}, {"128x128", 128, 128}, {"128x256", 128, 256}, {"256x128", 256, 128}});
constexpr auto priced = std::to_array<Tile>({{"32x64", 32, 64},
                                             {"64x64", 64, 64},
                                             {"64x128", 64, 128},
                                             {"128x64", 128, 64},
                                             {"128x128", 128, 128},
                                             {"128x256", 128, 256},
                                             {"256x128", 256, 128},
                                             {"256x256", 256, 256}});
constexpr auto row_edges = std::to_array<double>({16, 64, 128});
constexpr auto column_edges = std::to_array<double>({128, 256});

std::vector<std::string> make_names() {
  std::vector<std::string> names = {"is_sglang",
                                    "is_bare",
                                    "has_bulk_copy",
                                    "log_t",
                                    "share_math",
                                    "share_dram",
                                    "share_memory",
                                    "share_math_sm",
                                    "share_load_sm",
                                    "share_latency_sm",
                                    "share_body_sm",
                                    "share_split",
                                    "share_reread",
                                    "share_reread_by_rows",
                                    "share_quantise",
                                    "log_tile_m",
                                    "log_tile_n",
                                    "log_split",
                                    "log_waves",
                                    "wave_fill",
                                    "hot",
                                    "log_m",
                                    "log_n",
                                    "log_k",
                                    "is_n_power_of_2",
                                    "is_k_power_of_2"};
  for (const double edge : row_edges) names.push_back(fmt::format("edge_m_{}", edge));
  for (const double edge : column_edges) names.push_back(fmt::format("edge_n_{}", edge));
  for (const Tile& tile : filled) names.push_back(fmt::format("fill_{}", tile.name));
  names.insert(names.end(), {"log_waves_64x64", "log_waves_128x128"});
  for (const Tile& tile : priced) names.push_back(fmt::format("log_math_{}", tile.name));
  names = with_task_names(std::move(names));
  names.insert(names.end(), {"is_cold", "cold_share"});
  return names;
}

double fill(double units) { return units / std::ceil(units); }
bool is_power_of_2(std::int64_t x) { return (x & (x - 1)) == 0; }

}  // namespace

const std::vector<std::string>& gemm_feature_names() {
  static const std::vector<std::string> names = make_names();
  return names;
}

void write_gemm_features(const Gemm& gemm, const GpuSpec& gpu, const GemmEstimate& e,
                         FeatureSink& out) {
  constexpr double share_max = 3;  // beyond it, how much more says nothing
  const auto share = [&](double part) { out.add(std::min(part / e.total, share_max)); };
  const auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n);
  const double sms = gpu.sm_count;
  out.add(gemm.implementation.framework == Framework::sglang ? 1 : 0);
  out.add(is_bare_gemm(gemm) ? 1 : 0);
  out.add(copy_engine(gpu) == by_bulk_copy ? 1 : 0);
  out.add(std::log(e.total));
  for (const double part : {e.math, e.dram, e.memory(), e.tile_math, e.tile_load, e.tile_latency,
                            e.body, e.reduction, e.reread, e.reread_by_rows, e.quantise}) {
    share(part);
  }
  for (const double size : {e.tile_m, e.tile_n, e.split}) out.add(std::log(size));
  out.add(std::log(e.waves));
  out.add(fill(e.waves));
  out.add(e.hot);
  for (const double size : {m, n, static_cast<double>(gemm.k)}) out.add(std::log(size));
  out.add(is_power_of_2(gemm.n) ? 1 : 0);
  out.add(is_power_of_2(gemm.k) ? 1 : 0);
  for (const double edge : row_edges) out.add(fill(m / edge));
  for (const double edge : column_edges) out.add(fill(n / edge));
  const auto waves = [&](const Tile& tile) {
    return std::ceil(m / tile.m) * std::ceil(n / tile.n) / sms;
  };
  for (const Tile& tile : filled) out.add(fill(waves(tile)));
  out.add(std::log(waves(filled[0])));
  out.add(std::log(waves(filled[1])));
  for (const Tile& tile : priced) {
    const double padded = std::ceil(waves(tile)) * sms * tile.m * tile.n / (m * n);
    out.add(std::clamp(std::log(e.math * padded / e.total), -3.0, 3.0));
  }
}

}  // namespace foretoken

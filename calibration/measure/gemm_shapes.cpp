// Builds the list of matrix products. Sizes of the models are those of their published config.json.
#include "gemm_shapes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <stdexcept>

#include "family.hpp"

namespace foretoken::measure {
namespace {

struct ModelLayers {
  std::int64_t hidden, query_heads, kv_heads, head_dim, intermediate, vocabulary;
};

constexpr ModelLayers models[] = {
    {2048, 32, 8, 64, 8192, 128256},      // Llama 3.2 1B
    {3072, 24, 8, 128, 8192, 128256},     // Llama 3.2 3B
    {4096, 32, 8, 128, 14336, 128256},    // Llama 3.1 8B
    {8192, 64, 8, 128, 28672, 128256},    // Llama 3.1 70B
    {16384, 128, 8, 128, 53248, 128256},  // Llama 3.1 405B
    {5120, 40, 40, 128, 13824, 32000},    // Llama 2 13B
    {4096, 32, 32, 128, 11008, 32000},    // Llama 2 7B
    {896, 14, 2, 64, 4864, 151936},       // Qwen 2.5 0.5B
    {1536, 12, 2, 128, 8960, 151936},     // Qwen 2.5 1.5B
    {2048, 16, 2, 128, 11008, 151936},    // Qwen 2.5 3B
    {3584, 28, 4, 128, 18944, 152064},    // Qwen 2.5 7B
    {5120, 40, 8, 128, 13824, 152064},    // Qwen 2.5 14B
    {5120, 40, 8, 128, 27648, 152064},    // Qwen 2.5 32B
    {8192, 64, 8, 128, 29568, 152064},    // Qwen 2.5 72B
    {1024, 16, 8, 128, 3072, 151936},     // Qwen 3 0.6B
    {2560, 32, 8, 128, 9728, 151936},     // Qwen 3 4B
    {4096, 32, 8, 128, 12288, 151936},    // Qwen 3 8B
    {5120, 40, 8, 128, 17408, 151936},    // Qwen 3 14B
    {5120, 64, 8, 128, 25600, 151936},    // Qwen 3 32B
    {2048, 32, 4, 128, 768, 151936},      // Qwen 3 30B-A3B (one expert's width)
    {4096, 64, 4, 128, 1536, 151936},     // Qwen 3 235B-A22B (one expert's width)
    {5120, 32, 8, 128, 14336, 131072},    // Mistral Nemo 12B
    {5120, 32, 8, 128, 32768, 131072},    // Mistral Small 24B
    {6144, 48, 8, 128, 16384, 32768},     // Mixtral 8x22B
    {2304, 8, 4, 256, 9216, 256000},      // Gemma 2 2B
    {3584, 16, 8, 256, 14336, 256000},    // Gemma 2 9B
    {4608, 32, 16, 128, 36864, 256000},   // Gemma 2 27B
    {2560, 8, 4, 256, 10240, 262144},     // Gemma 3 4B
    {3072, 32, 32, 96, 8192, 32064},      // Phi 3 mini
    {5120, 40, 10, 128, 17920, 100352},   // Phi 4
    {2880, 64, 8, 64, 2880, 201088},      // gpt-oss
    {4096, 32, 2, 128, 13696, 151552},    // GLM 4 9B
    {4544, 71, 1, 64, 18176, 65024},      // Falcon 7B
    {7168, 128, 128, 128, 18432, 129280}  // DeepSeek V3 (dense layers)
};

// Projections of multi-head latent attention, shared experts and routers, (n, k).
constexpr std::pair<std::int64_t, std::int64_t> other_layers[] = {
    {1536, 7168}, {576, 7168}, {2112, 7168},  {24576, 1536}, {12288, 1536}, {3072, 1536},
    {32768, 512}, {4096, 512}, {7168, 16384}, {7168, 2048},  {4096, 7168},  {7168, 2304},
    {256, 7168},  {128, 4096}, {128, 2048},   {64, 2048},    {32, 2880},    {128, 2880},
    {8, 4096},    {60, 2048},  {3072, 2048},  {576, 2048},   {2048, 1408},  {2816, 2048},
};

using Layer = std::pair<std::int64_t, std::int64_t>;  // n, k

void add_model(const ModelLayers& model, std::set<Layer>& layers) {
  for (const std::int64_t tp : {1, 2, 4, 8}) {
    if (model.query_heads % tp != 0 || model.intermediate % tp != 0) continue;
    const std::int64_t query = model.query_heads / tp * model.head_dim;
    const std::int64_t kv = std::max<std::int64_t>(model.kv_heads / tp, 1) * model.head_dim;
    layers.insert({query + 2 * kv, model.hidden});
    layers.insert({model.hidden, query});
    layers.insert({2 * model.intermediate / tp, model.hidden});
    layers.insert({model.hidden, model.intermediate / tp});
    layers.insert({(model.vocabulary + tp - 1) / tp, model.hidden});
  }
}

/// Log-uniform in [low, high], rounded to a multiple.
std::int64_t draw(std::mt19937_64& random, double low, double high, int multiple) {
  const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  const double value = low * std::pow(high / low, unit);
  return std::max<std::int64_t>(1, std::llround(value / multiple)) * multiple;
}

std::int64_t draw_tokens(std::mt19937_64& random) {
  static const std::vector<int> grid = token_counts(16384);
  if (random() % 3 != 0) return grid[random() % grid.size()];
  return draw(random, 1, 16384, 1);
}

}  // namespace

std::vector<GemmShape> gemm_shapes(std::uint64_t seed, int multiple, int per_layer) {
  constexpr int random_layers = 250;
  constexpr double multiply_adds_max = 2.5e12;  // about 6 ms in bf16 on an H200
  constexpr std::int64_t elements_max = 1'500'000'000;
  std::mt19937_64 random(seed);
  std::set<Layer> layers(std::begin(other_layers), std::end(other_layers));
  for (const ModelLayers& model : models) add_model(model, layers);
  for (int i = 0; i < random_layers; ++i) {
    const int step = i % 3 == 0 ? multiple : i % 3 == 1 ? 64 : 128;
    const std::int64_t n = draw(random, 64, 32768, step);
    layers.insert({n, draw(random, 64, 32768, step)});
  }
  std::set<GemmShape> shapes;
  for (const auto& [n, k] : layers) {
    if (n % multiple != 0 || k % multiple != 0) continue;
    for (int i = 0; i < per_layer; ++i) {
      const GemmShape shape{draw_tokens(random), n, k};
      const double work = static_cast<double>(shape.m) * static_cast<double>(n * k);
      if (work <= multiply_adds_max && n * k <= elements_max && shape.m * n <= elements_max)
        shapes.insert(shape);
    }
  }
  return {shapes.begin(), shapes.end()};
}

std::vector<GemmShape> read_gemm_shapes(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  std::vector<GemmShape> shapes;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#' || (number == 1 && line[0] == 'm')) continue;
    std::int64_t values[3] = {};
    const char* at = line.data();
    const char* end = at + line.size();
    for (int i = 0; i < 3; ++i) {
      const auto [next, error] = std::from_chars(at, end, values[i]);
      const bool separated = i == 2 || (next != end && *next == ',');
      if (error != std::errc{} || values[i] < 1 || !separated)
        throw std::runtime_error(path + ":" + std::to_string(number) +
                                 ": expected three positive numbers m,n,k");
      at = next + 1;
    }
    shapes.push_back({values[0], values[1], values[2]});
  }
  return shapes;
}

}  // namespace foretoken::measure

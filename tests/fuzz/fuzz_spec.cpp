// Any bytes as a specification: TOML as a GPU, a cluster, a fabric's costs and a model, JSON as a
// Hugging Face config and a pool of tiles. Reading ends in a spec or in a ConfigError; what is read
// can be looked over and drawn, and a model or a pool survives being written out.
#include <cstdint>
#include <string_view>

#include "hardware/cluster.hpp"
#include "hardware/comm_parameters.hpp"
#include "kernels/tiles/tile_pool.hpp"
#include "models/transformer.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace foretoken;

void check_model(const Transformer& model) {
  const std::string text = model_toml(model);
  try {
    FORETOKEN_CHECK(read_model(parse_toml(text, "written.toml")) == model,
                    "the model is another after being written out:\n{}", text);
  } catch (const ConfigError& error) {
    FORETOKEN_CHECK(false, "the model as written is refused: {}\n{}", error.what(), text);
  }
}

void check_pool(const TilePool& pool) {
  FORETOKEN_CHECK(!pool.tiles.empty() && !pool.shapes.empty(), "an empty pool");
  const std::string text = write_tile_pool(pool, {});
  const std::string again =
      write_tile_pool(read_tile_pool(parse_json(text, {"written.json", 1}), "written.json"), {});
  FORETOKEN_CHECK(again == text, "the pool is another after being written out:\n{}", text);
}

/// Applies `use` to what `read` makes of the bytes, if it makes something.
template <class Read, class Use>
void try_to(Read read, Use use) {
  decltype(read()) spec;
  try {
    spec = read();
  } catch (const ConfigError&) {
    return;
  }
  use(spec);
}

}  // namespace

FORETOKEN_FUZZ(spec)(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("{")) {
    Value object;
    try {
      object = parse_json(text, {"fuzz.json", 1});
    } catch (const ConfigError&) {
      return 0;
    }
    try_to([&] { return import_hugging_face(object, "fuzz"); }, check_model);
    try_to([&] { return read_tile_pool(object, "fuzz.json"); }, check_pool);
    return 0;
  }
  Value root;
  try {
    root = parse_toml(text, "fuzz.toml");
  } catch (const ConfigError&) {
    return 0;
  }
  try_to([&] { return read_gpu(root); }, [](const GpuSpec& gpu) { check_gpu(gpu); });
  try_to([&] { return read_cluster(root); },
         [](const ClusterSpec& cluster) {
           FORETOKEN_CHECK(cluster.gpu_count() > 0, "a cluster without GPUs");
           check_cluster(cluster);
           cluster_dot(cluster);
         });
  try_to([&] { return read_fabric_costs(root); },
         [](const FabricCosts& costs) { read_fabric_costs(fabric_table(costs)); });
  try_to([&] { return read_model(root); }, check_model);
  return 0;
}

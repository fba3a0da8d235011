// Any bytes as a specification: TOML as a GPU, a cluster and a model, JSON as a Hugging Face
// config. Reading ends in a spec or in a ConfigError; what is read can be looked over and drawn,
// and a model survives being written out.
#include <cstdint>
#include <string_view>

#include "hardware/cluster.hpp"
#include "models/transformer.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("{")) {
    try_to(
        [&] {
          return import_hugging_face(parse_json(text, {"config.json", 1}), "fuzz");
        },
        check_model);
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
  try_to([&] { return read_model(root); }, check_model);
  return 0;
}

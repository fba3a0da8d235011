// Every config.json of FORETOKEN_DATA/hf_configs imports with the parameters that were published
// for it.
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "models/operator_graph.hpp"
#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

struct Published {
  std::string total, active;  // in 10^9, as published: digits say how rounded
};

std::map<std::string, Published> read_published(const std::filesystem::path& file) {
  std::map<std::string, Published> published;
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) {
    std::istringstream fields(line);
    std::string name, architecture;
    Published entry;
    std::getline(fields, name, ',');
    std::getline(fields, architecture, ',');
    std::getline(fields, entry.total, ',');
    std::getline(fields, entry.active, ',');
    published.emplace(name, entry);
  }
  return published;
}

/// One of `counts` is `published` within half a unit of its last digit, or 5 % where that is
/// larger. Who publishes a figure rarely says whether the encoder and the token embedding are in
/// it.
void expect_near(const std::vector<std::int64_t>& counts, const std::string& published,
                 const std::string& what) {
  if (published.empty()) return;
  const double value = std::stod(published);
  const auto dot = published.find('.');
  const auto decimals = dot == std::string::npos ? 0 : published.size() - dot - 1;
  const double unit = std::pow(10.0, -static_cast<double>(decimals));
  const double tolerance = std::max(unit / 2, 0.05 * value);
  const bool is_near = std::ranges::any_of(counts, [&](std::int64_t count) {
    return std::abs(static_cast<double>(count) / 1e9 - value) <= tolerance;
  });
  EXPECT_TRUE(is_near) << what << " is " << published << "e9, counted "
                       << fmt::format("{}", fmt::join(counts, ", "));
}

class PublishedConfigs : public testing::Test {
 protected:
  void SetUp() override {
    const char* const data = std::getenv("FORETOKEN_DATA");
    if (data == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
    folder_ = std::filesystem::path(data) / "hf_configs";
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".json") files_.push_back(entry.path());
    }
    std::ranges::sort(files_);
    ASSERT_FALSE(files_.empty());
  }

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> files_;
};

TEST_F(PublishedConfigs, ImportWithTheirParameters) {
  const auto published = read_published(folder_ / "params.csv");
  for (const std::filesystem::path& file : files_) {
    const std::string stem = file.stem().string();
    const std::string name = stem.substr(0, stem.rfind("_config"));
    try {
      const Transformer model = import_hugging_face(load_json(file), "m");
      const std::int64_t total = parameter_count(model);
      const std::int64_t active = active_parameter_count(model);
      const std::int64_t embedding = model.vocabulary * model.hidden;
      const std::int64_t head = model.tied_embeddings ? 0 : embedding;
      expect_near({total, total + model.encoder_weights(), total - head}, published.at(name).total,
                  name + ", total");
      expect_near({active, active - embedding, active - embedding - head},
                  published.at(name).active, name + ", active");
      EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model) << name;
    } catch (const ConfigError& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace foretoken

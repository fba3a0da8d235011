// Models as TOML: read, written back, and every mistake of a file told at once.
#include <gmock/gmock.h>

#include <fstream>

#include "models/transformer.hpp"
#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::model_toml_test {
namespace {

constexpr std::string_view dense_text = R"(name = "toy"
layers = 2
hidden = 64
intermediate = 128
query_heads = 4
kv_heads = 2
head_dim = 16
vocabulary = 1000
context_max = 2048
)";

/// "line: message" for each mistake in `text`.
std::vector<std::string> mistakes(const std::string& text) {
  std::vector<std::string> found;
  try {
    read_model(parse_toml(text, "toy.toml"));
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      found.push_back(fmt::format("{}: {}", diagnostic.position.line, diagnostic.message));
    }
  }
  return found;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  FORETOKEN_CHECK(at != std::string::npos, "no '{}' in the text", from);
  return text.replace(at, from.size(), to);
}

TEST(ModelToml, ReadsWhatIsWritten) {
  const Transformer model = read_model(parse_toml(dense_text, "toy.toml"));
  EXPECT_EQ(model.name, "toy");
  EXPECT_EQ(model.title, "toy");
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.hidden, 64);
  EXPECT_EQ(model.intermediate, 128);
  EXPECT_EQ(model.query_heads, 4);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.vocabulary, 1000);
  EXPECT_EQ(model.context_max, 2048);
  EXPECT_FALSE(model.tied_embeddings || model.qkv_bias || model.output_bias || model.qk_norm ||
               model.qk_norm_full || model.moe);
  EXPECT_EQ(model.window(1), 0);
}

TEST(ModelToml, WritesBackEverySpec) {
  for (const std::string& name : model_names()) {
    const Transformer model = load_model(name, {});
    EXPECT_EQ(read_model(parse_toml(model_toml(model), name)), model) << name;
  }
}

TEST(ModelToml, WritesBackEveryMember) {
  Transformer model = read_model(parse_toml(dense_text, "toy.toml"));
  model.title = "A \"toy\"";
  model.tied_embeddings = model.qkv_bias = model.output_bias = true;
  model.qk_norm_full = model.qk_norm_sums = true;
  model.window_pattern = {512, 0};
  model.moe = MoeConfig{.experts = 8,
                        .topk = 2,
                        .groups = {4, 2},
                        .intermediate = 32,
                        .shared_intermediate = 48,
                        .dense_layers = 1,
                        .router_bias = true,
                        .expert_bias = true};
  model.attention_sinks = model.post_norms = true;
  model.released = WeightFormats(DType::fp8, DType::mxfp4);
  model.kv_released = DType::fp8;
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "toy.toml")), model);
}

constexpr std::string_view latent_text = R"(name = "latent"
layers = 2
hidden = 64
intermediate = 128
query_heads = 4
vocabulary = 640
context_max = 1024
[mla]
kv_rank = 16
nope_dim = 8
rope_dim = 4
value_dim = 6
)";

TEST(ModelToml, LatentAttentionSaysTheHeadsWidths) {
  const Transformer model = read_model(parse_toml(latent_text, "latent.toml"));
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 12);
  EXPECT_EQ(model.mla, (MlaConfig{.kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .value_dim = 6}));
}

TEST(ModelToml, LatentAttentionExcludesGroupedQueries) {
  const std::string text = replaced(std::string(latent_text), "query_heads = 4",
                                    "query_heads = 4\nkv_heads = 2\nqk_norm = true\n"
                                    "window_pattern = [128]");
  EXPECT_THAT(mistakes(text),
              testing::UnorderedElementsAre(
                  "6: kv_heads: belongs to grouped-query attention; [mla] says the heads' widths",
                  "7: qk_norm: cannot be combined with [mla]",
                  "8: window_pattern: cannot be combined with [mla]: latent attention sees all "
                  "keys"));
}

TEST(ModelToml, FormatsAreThoseOfTheCheckpoint) {
  const std::string moe =
      "[moe]\nexperts = 4\ntopk = 1\nintermediate = 32\ndense_layers = 1\ndtype = \"mxfp4\"\n";
  EXPECT_EQ(read_model(parse_toml(std::string(dense_text) + moe, "m")).released,
            WeightFormats(DType::bf16, DType::mxfp4));
  EXPECT_EQ(read_model(parse_toml(std::string(dense_text) + "dtype = \"fp8\"\n", "m")).released,
            WeightFormats(DType::fp8));
  EXPECT_EQ(read_model(parse_toml(dense_text, "m")).released, std::nullopt);
}

TEST(ModelToml, LoadsAFileByPath) {
  const std::string path = (own_folder() / "toy_model.toml").string();
  std::ofstream(path) << dense_text;
  EXPECT_EQ(load_model(path, {}).name, "toy");
}

TEST(ModelToml, ReportsAllMistakesTogether) {
  std::string text(dense_text);
  text = replaced(text, "hidden = 64", "hiden = 64");
  text = replaced(text, "layers = 2", "layers = 0");
  text = replaced(text, "kv_heads = 2", "kv_heads = 3");
  EXPECT_THAT(mistakes(text),
              testing::UnorderedElementsAre("2: layers: must be from 1 to 10000, not 0",
                                            "1: 'hidden' is missing",
                                            "6: kv_heads: 3 does not divide the 4 query heads",
                                            "3: unknown key 'hiden'; did you mean 'hidden'?"));
}

TEST(ModelToml, RefusesMixedUpExperts) {
  const std::string moe = "[moe]\nexperts = 4\ntopk = 8\nintermediate = 32\ndense_layers = 2\n";
  EXPECT_THAT(
      mistakes(std::string(dense_text) + moe),
      testing::UnorderedElementsAre("12: moe.topk: 8 exceeds the 4 experts",
                                    "14: moe.dense_layers: must leave at least one of the 2 layers "
                                    "to the experts; without experts, omit [moe]"));
}

TEST(ModelToml, RefusesGroupsThatDoNotHoldATokensExperts) {
  const std::string moe =
      "[moe]\nexperts = 16\ntopk = 8\ngroups = 8\ntopk_groups = 2\nintermediate = 32\n";
  EXPECT_THAT(mistakes(std::string(dense_text) + moe + "dense_layers = 1\n"),
              testing::ElementsAre("14: moe.topk_groups: offers 4 experts, and a token takes 8"));
}

TEST(ModelToml, RefusesAWidthThatNoLayerUses) {
  const std::string moe = "[moe]\nexperts = 4\ntopk = 1\nintermediate = 32\n";
  EXPECT_THAT(mistakes(std::string(dense_text) + moe),
              testing::ElementsAre("4: intermediate: is the width of a dense MLP, and every layer "
                                   "has experts; set moe.dense_layers or omit it"));
}

TEST(ModelToml, RefusesTwoQkNorms) {
  EXPECT_THAT(mistakes(std::string(dense_text) + "qk_norm_sums = true\n"),
              testing::ElementsAre("10: qk_norm_sums: says how heads are normed all together; it "
                                   "needs qk_norm_full"));
  EXPECT_THAT(mistakes(std::string(dense_text) + "qk_norm = true\nqk_norm_full = true\n"),
              testing::ElementsAre("11: qk_norm_full: excludes qk_norm: heads are normed on their "
                                   "own or all together"));
}

// 10,000 layers of 4 attention matrices [64 x 64] and an MLP of 3 x 4e6 x 4e6 = 4.8e13 weights.
TEST(ModelToml, RefusesSizesThatCannotBeMeant) {
  std::string text = replaced(std::string(dense_text), "hidden = 64", "hidden = 4000000");
  text = replaced(text, "intermediate = 128", "intermediate = 4000000");
  text = replaced(text, "layers = 2", "layers = 10000");
  EXPECT_THAT(mistakes(text), testing::ElementsAre(testing::EndsWith(
                                  "these sizes make 4.8e+17 parameters, more than 1e+15; check "
                                  "the units (widths count elements)")));
}

TEST(ModelToml, RefusesNamesThatReadAsPaths) {
  EXPECT_THAT(mistakes(replaced(std::string(dense_text), "\"toy\"", "\"Toy.toml\"")),
              testing::ElementsAre("1: name: must be lower-case letters, digits, '-', '_' and '.', "
                                   "and not end in .toml or .json"));
}

}  // namespace
}  // namespace foretoken::model_toml_test

// Quantisation blocks of checkpoints, shortened to the keys that matter: the formats they mean, and
// that what is not understood is refused by name.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/models/quantised_configs.hpp"

namespace foretoken::quantisation_test {
namespace {

using quantised_configs::dense;
using quantised_configs::experts;
using quantised_configs::formats;
using quantised_configs::groups;
using testing::ElementsAre;
using testing::HasSubstr;

std::string mistake(const Value& config) {
  try {
    import_hugging_face(config, "m");
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

TEST(Quantisation, NoneIs16Bit) {
  EXPECT_EQ(import_hugging_face(dense(""), "m").released, std::nullopt);
}

TEST(Quantisation, AwqAndGptqAreWeightOnly) {
  EXPECT_EQ(formats(dense(R"({"quant_method": "awq", "bits": 4, "group_size": 128,
    "zero_point": true, "modules_to_not_convert": null})")),
            WeightFormats(DType::w4a16));
  EXPECT_EQ(formats(dense(R"({"quant_method": "gptq", "bits": 4, "group_size": 32})")),
            WeightFormats(DType::w4a16_g32));
  EXPECT_EQ(formats(dense(R"({"quant_method": "gptq", "bits": 4, "group_size": -1})")),
            WeightFormats(DType::w4a16));
  EXPECT_EQ(formats(dense(R"({"quant_method": "gptq", "bits": 8, "group_size": 128})")),
            WeightFormats(DType::w8a16));
}

// By hand: a layer's 218,103,808 weights of matrix products at 4 bits and a 16-bit scale for 128 of
// them, norms (2 x 4096) and the final one, embedding and LM head in 16 bit.
TEST(Quantisation, NarrowWeightsTakeTheirBytes) {
  const Transformer model =
      import_hugging_face(dense(R"({"quant_method": "awq", "bits": 4, "group_size": 128})"), "m");
  const double products = 4 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3 * 4096.0 * 14336);
  const double plain = 4 * 2 * 4096.0 + 4096 + 2 * 128256 * 4096.0;
  EXPECT_DOUBLE_EQ(weight_bytes_per_rank(model, {}, 0, *model.released).value(),
                   products * (0.5 + 2.0 / 128) + plain * 2);
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model);
}

TEST(Quantisation, CompressedTensorsByBitsAndActivations) {
  const std::string int4 = R"({"num_bits": 4, "type": "int", "group_size": 128})";
  const std::string int8 = R"({"num_bits": 8, "type": "int", "strategy": "channel"})";
  const std::string fp8 = R"({"num_bits": 8, "type": "float", "strategy": "channel"})";
  const std::string blocks = R"({"num_bits": 8, "type": "float", "strategy": "block"})";
  const std::string fp4 = R"({"num_bits": 4, "type": "float", "group_size": 16})";
  EXPECT_EQ(formats(dense(groups(int4, "null"))), WeightFormats(DType::w4a16));
  EXPECT_EQ(formats(dense(groups(int8, "null"))), WeightFormats(DType::w8a16));
  EXPECT_EQ(formats(dense(groups(int8, int8))), WeightFormats(DType::int8));
  EXPECT_EQ(formats(dense(groups(fp8, fp8))), WeightFormats(DType::fp8));
  EXPECT_EQ(formats(dense(groups(blocks, fp8))), WeightFormats(DType::fp8_block));
  EXPECT_EQ(formats(dense(groups(fp8, "null"))), WeightFormats(DType::w8a16));
  EXPECT_EQ(formats(dense(groups(fp4, fp4))), WeightFormats(DType::nvfp4));
  EXPECT_EQ(formats(dense(groups(fp4, "null"))), WeightFormats(DType::w4a16_g32));
}

// Kimi K2.5's block, word for word in what matters: experts alone are 4 bit.
TEST(Quantisation, IgnoredModulesStay16Bit) {
  const std::string kimi = groups(R"({"num_bits": 4, "type": "int", "group_size": 32})", "null",
                                  R"("lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                                  "re:.*mlp\\.(gate|up|gate_up|down)_proj.*")");
  EXPECT_EQ(formats(experts(kimi)), WeightFormats(DType::bf16, DType::w4a16_g32));
  const std::string kept = groups(R"({"num_bits": 4, "type": "int", "group_size": 32})", "null",
                                  R"("lm_head", "re:.*self_attn.*")");
  WeightFormats expected(DType::w4a16_g32);
  expected.attention = DType::bf16;
  EXPECT_EQ(formats(experts(kept)), expected);
}

TEST(Quantisation, ModelOptByGlobsAndWithoutAMethod) {
  const std::string ignored =
      R"("lm_head", "model.layers.0.self_attn*", "model.layers.1.self_attn*",
         "model.layers.2.self_attn*", "model.layers.3.self_attn*", "model.layers.4.self_attn*")";
  const std::string nvfp4 = fmt::format(R"({{"quant_method": "modelopt", "quant_algo": "NVFP4",
    "ignore": [{}], "config_groups": {{"group_0": {{"targets": ["Linear"],
      "weights": {{"num_bits": 4, "type": "float", "group_size": 16}},
      "input_activations": {{"num_bits": 4, "type": "float", "group_size": 16}}}}}}}})",
                                        ignored);
  WeightFormats expected(DType::nvfp4);
  expected.attention = DType::bf16;
  EXPECT_EQ(formats(experts(nvfp4)), expected);
  EXPECT_EQ(formats(dense(R"({"quant_algo": "FP8", "ignore": ["lm_head"]})")),
            WeightFormats(DType::fp8));
}

TEST(Quantisation, TheOlderNameOfTheBlockIsRead) {
  Value config = dense("");
  const std::string fp8 = R"({"num_bits": 8, "type": "float"})";
  config.set("compression_config", parse_json(groups(fp8, fp8), {"config.json"}));
  EXPECT_EQ(formats(config), WeightFormats(DType::fp8));
}

TEST(Quantisation, IgnoredNamesEndAtDots) {
  EXPECT_EQ(formats(dense(R"({"quant_method": "fp8", "modules_to_not_convert": ["gate",
    "model.layers.11", "self", "attn"]})")),
            WeightFormats(DType::fp8));
}

TEST(Quantisation, OneThatNamesNoWeightIsTold) {
  EXPECT_EQ(import_hugging_face(dense("null"), "m").left_out, std::vector<std::string>());
  // MXFP4 is of experts, and this model has none.
  const Transformer model = import_hugging_face(dense(R"({"quant_method": "mxfp4"})"), "m");
  EXPECT_EQ(model.released, std::nullopt);
  EXPECT_THAT(model.left_out,
              ElementsAre("its quantization_config covers none of its weights: counted in bf16"));
}

TEST(Quantisation, BitsAndBytesHasItsSizeAndIsTold) {
  const Transformer model = import_hugging_face(
      dense(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": false,
                "bnb_4bit_use_double_quant": true, "llm_int8_skip_modules": ["lm_head"]})"),
      "m");
  EXPECT_EQ(model.released, WeightFormats(DType::w4a16));
  EXPECT_THAT(model.left_out, ElementsAre(HasSubstr("its kernels are unmeasured")));
  EXPECT_EQ(formats(dense(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})")),
            WeightFormats(DType::w4a16_g32));
  EXPECT_EQ(formats(dense(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})")),
            WeightFormats(DType::w8a16));
}

TEST(Quantisation, SingleModulesMayHaveBitsOfTheirOwn) {
  WeightFormats expected(DType::w8a16);
  expected.attention = DType::bf16;
  EXPECT_EQ(formats(dense(R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic":
                {"+:.*mlp.*": {"bits": 8}, "-:.*self_attn.*": {}}})")),
            expected);
  EXPECT_EQ(formats(dense(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"-:lm_head": {}}})")),
            WeightFormats(DType::w4a16));
  expected = WeightFormats(DType::w4a16);
  expected.attention = DType::bf16;
  EXPECT_EQ(formats(dense(R"({"quant_method": "auto-round", "bits": 4, "group_size": 128,
                "extra_config": {"self_attn": {"bits": 16}}})")),
            expected);
  EXPECT_EQ(formats(dense(R"({"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize":
                [["mlp.gate_proj", "mlp.up_proj"], ["mlp.down_proj"]]})")),
            expected);
}

// AMD Quark's blocks, shortened; the second is that of an MXFP4 model with fp8 attention.
TEST(Quantisation, QuarkByItsNumberFormats) {
  EXPECT_EQ(formats(dense(R"({"quant_method": "quark", "exclude": ["lm_head"],
    "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"},
                            "input_tensors": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}}})")),
            WeightFormats(DType::fp8));
  WeightFormats expected(DType::mxfp4);
  expected.attention = DType::fp8;
  EXPECT_EQ(formats(dense(R"({"quant_method": "quark", "global_quant_config": {
      "weight": {"dtype": "fp4", "group_size": 32, "qscheme": "per_group"},
      "input_tensors": {"dtype": "fp4", "group_size": 32, "qscheme": "per_group"}},
    "layer_quant_config": {"*self_attn*": {"weight": {"dtype": "fp8_e4m3"},
                                           "input_tensors": {"dtype": "fp8_e4m3"}}}})")),
            expected);
}

TEST(Quantisation, TorchAoByItsTypes) {
  const auto of_type = [](std::string_view type) {
    return formats(dense(fmt::format(
        R"({{"quant_method": "torchao", "quant_type": {{"default": {{"_type": "{}"}}}}}})", type)));
  };
  EXPECT_EQ(of_type("Float8DynamicActivationFloat8WeightConfig"), WeightFormats(DType::fp8));
  EXPECT_EQ(of_type("Int4WeightOnlyConfig"), WeightFormats(DType::w4a16));
  EXPECT_EQ(of_type("Int8DynamicActivationInt8WeightConfig"), WeightFormats(DType::int8));
}

TEST(Quantisation, NearestFormatsAreTold) {
  const auto told = [](const std::string& block) {
    const Transformer model = import_hugging_face(dense(block), "m");
    return fmt::format("{} {}", enum_name(model.released->linear), fmt::join(model.left_out, ""));
  };
  EXPECT_THAT(told(R"({"quant_method": "mxfp8", "weight_block_size": [1, 32]})"),
              testing::StartsWith("fp8_block mxfp8: counted as fp8_block"));
  EXPECT_THAT(told(R"({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})"),
              testing::StartsWith("w4a16 4-bit weights with 8-bit activations"));
  EXPECT_THAT(told(groups(R"({"num_bits": 4, "type": "int", "group_size": 128})",
                          R"({"num_bits": 8, "type": "float"})")),
              testing::StartsWith("w4a16 4-bit weights with 8-bit activations"));
}

TEST(Quantisation, ModelOptsOwnFileInsideTheConfig) {
  EXPECT_EQ(formats(dense(R"({"quant_method": "modelopt", "producer": {"name": "modelopt"},
    "quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}})")),
            WeightFormats(DType::nvfp4));
}

TEST(Quantisation, WhatIsNotUnderstoodIsRefusedByName) {
  EXPECT_THAT(mistake(dense(R"({"quant_method": "quip"})")),
              HasSubstr("quant_method: unknown method 'quip'. Known: awq, awq_marlin, gptq"));
  EXPECT_THAT(mistake(dense(R"({"bits": 4})")), HasSubstr("unknown method ''"));
  EXPECT_THAT(mistake(dense(R"("awq")")),
              HasSubstr("quantization_config: must be an object, not a string"));
  EXPECT_THAT(mistake(dense(R"({"quant_method": "gptq", "bits": 3})")),
              HasSubstr("bits: 3-bit weights are not supported; 4 and 8 bits are"));
  EXPECT_THAT(mistake(dense(R"({"quant_method": "modelopt", "quant_algo": "W2A16"})")),
              HasSubstr("unknown quant_algo 'W2A16'"));
  EXPECT_THAT(mistake(dense(groups(R"({"num_bits": 4, "type": "int"})", "null", R"("re:(")"))),
              HasSubstr("regular expressions"));
}

TEST(Quantisation, ModelOptWritesAFileBesideTheConfig) {
  const std::filesystem::path folder = own_folder();
  std::ofstream(folder / "config.json") << to_json(dense(""));
  std::ofstream(folder / "hf_quant_config.json")
      << R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8",
           "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})";
  EXPECT_EQ(load_model((folder / "config.json").string(), {}).released, WeightFormats(DType::fp8));
  EXPECT_EQ(load_model(folder.string(), {}).released, WeightFormats(DType::fp8));
}

}  // namespace
}  // namespace foretoken::quantisation_test

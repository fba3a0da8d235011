#include "sim/scenario/recorded_formats.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "hardware/gpu.hpp"
#include "hardware/gpu_name.hpp"
#include "models/model_name.hpp"
#include "models/transformer.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

struct RecordedFormat {
  std::string_view recorded;
  DType format;
};
/// AIConfigurator's names (its common.GEMMQuantMode and MoEQuantMode).
constexpr auto recorded_formats =
    std::to_array<RecordedFormat>({{"float16", DType::bf16},
                                   {"bfloat16", DType::bf16},
                                   {"bf16", DType::bf16},
                                   {"fp4", DType::nvfp4},
                                   {"int4", DType::w4a16},
                                   {"fp8", DType::fp8},
                                   {"fp8_static", DType::fp8},
                                   {"fp8_ootb", DType::fp8},
                                   {"fp8_block", DType::fp8_block},
                                   {"nvfp4", DType::nvfp4},
                                   {"int8_wo", DType::w8a16},
                                   {"int4_wo", DType::w4a16},
                                   {"w4afp8", DType::w4a16},
                                   {"w4a16_mxfp4", DType::mxfp4},
                                   {"w4a8_mxfp4_mxfp8", DType::mxfp4}});

std::optional<DType> format_called(const std::string& recorded, const SourcePosition& position) {
  if (recorded.empty()) return std::nullopt;
  const auto found = std::ranges::find(recorded_formats, recorded, &RecordedFormat::recorded);
  if (found != recorded_formats.end()) return found->format;
  std::vector<std::string_view> known;
  for (const RecordedFormat& format : recorded_formats) known.push_back(format.recorded);
  throw ConfigError(position, unknown_name_message("format", recorded, known));
}

bool is_fp8(std::optional<DType> format) {
  return format == DType::fp8 || format == DType::fp8_block;
}

/// AMD's parts multiply mxfp4 and no nvfp4: their checkpoints of "fp4" are amd/…-MXFP4.
std::optional<DType> four_bits_of(std::optional<DType> format, const std::string& system) {
  const std::vector<std::string> found = gpus_called(system);
  if (format != DType::nvfp4 || found.size() != 1) return format;
  const GpuSpec gpu = load_gpu(found.front(), {});
  const auto multiplies = [&gpu](DType dtype) { return gpu.tensor_rate(dtype).value() > 0; };
  return multiplies(DType::mxfp4) && !multiplies(DType::nvfp4) ? DType::mxfp4 : format;
}

/// What is published in 4 bits is served as it is, whatever a table calls all of it; but not where
/// the table says floating point of weights that are published as integers
/// (nvidia/Kimi-K2.5-NVFP4).
bool is_served_as_published(const WeightFormats& published, std::optional<DType> experts) {
  if (published.experts == DType::mxfp4) return true;
  return published.experts == DType::w4a16_g32 && experts != DType::nvfp4 &&
         experts != DType::mxfp4;
}

WeightFormats published_formats(const std::string& name, const ClosedLoopPoint& point) {
  if (const auto named = model_named(point.model); named && named->released) {
    return *named->released;
  }
  return load_model(name, point.position).released.value_or(WeightFormats());
}

}  // namespace

void set_recorded_formats(Value& model, const std::string& name, const ClosedLoopPoint& point) {
  const auto said = [&point](const std::string& recorded) {
    return four_bits_of(format_called(recorded, point.position), point.system);
  };
  const std::optional<DType> linear = said(point.gemm_format);
  const std::optional<DType> experts = said(point.moe_format);
  const WeightFormats published = published_formats(name, point);
  if (is_served_as_published(published, experts ? experts : linear)) return;
  DType of_linear = linear.value_or(published.linear);
  DType of_experts = experts.value_or(linear.value_or(published.experts));
  // One checkpoint has one way of scaling; "fp8" says nothing of it where another word does.
  const bool is_block = is_fp8(of_linear) && is_fp8(of_experts) &&
                        (published.linear == DType::fp8_block || of_linear == DType::fp8_block ||
                         of_experts == DType::fp8_block);
  if (is_block) of_linear = of_experts = DType::fp8_block;
  if (linear || published.linear != DType::bf16) {
    model.set("dtype", std::string(enum_name(of_linear)));
  }
  const Transformer transformer = load_model(name, point.position);
  if (transformer.moe && of_experts != of_linear) {
    model.set("expert_dtype", std::string(enum_name(of_experts)));
  }
  // hf_quant_config.json of nvidia/DeepSeek-R1-FP4: attention is left in 16 bits. Assumed of
  // AMD's, too.
  const bool is_fp4 = of_linear == DType::nvfp4 || of_linear == DType::mxfp4;
  if (is_fp4 && transformer.mla) model.set("attention_dtype", "bf16");
}

}  // namespace foretoken

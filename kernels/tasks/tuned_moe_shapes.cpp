// File names of the two frameworks' configuration folders (vllm/model_executor/layers/fused_moe/
// configs; sglang/srt/layers/moe/moe_runner/triton_utils/configs), 16-bit formats only, of the
// parts that have a spec here. SGLang began with vLLM's files and added its own; the additions are
// listed apart. Files come and go with versions: these are those whose effect the tables of vLLM
// 0.14 and 0.24, SGLang 0.5.10 and 0.5.14 show, or which no table contradicts.
#include "kernels/tasks/tuned_moe_shapes.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace foretoken {
namespace {

struct Shape {
  int experts, width;
  friend bool operator==(const Shape&, const Shape&) = default;
};

constexpr auto a100_shapes = std::to_array<Shape>({{1, 1792},
                                                   {1, 3584},
                                                   {1, 7168},
                                                   {1, 14336},
                                                   {8, 1792},
                                                   {8, 2048},
                                                   {8, 3584},
                                                   {8, 4096},
                                                   {8, 7168},
                                                   {16, 1344},
                                                   {16, 1792},
                                                   {16, 2688},
                                                   {16, 3584},
                                                   {16, 7168},
                                                   {16, 14336},
                                                   {64, 640},
                                                   {64, 1280},
                                                   {128, 192}});
constexpr auto h100_shapes = std::to_array<Shape>(
    {{1, 3072},  {8, 1792},  {8, 2048},  {8, 3584},  {8, 4096},  {8, 7168},  {16, 1024},
     {16, 1344}, {16, 2688}, {62, 256},  {62, 512},  {64, 320},  {64, 640},  {64, 1280},
     {72, 384},  {72, 768},  {128, 192}, {128, 352}, {128, 384}, {128, 512}, {128, 1856}});
constexpr auto h200_shapes = std::to_array<Shape>({{8, 1792},
                                                   {8, 2048},
                                                   {8, 3584},
                                                   {8, 4096},
                                                   {8, 7168},
                                                   {8, 14336},
                                                   {16, 1024},
                                                   {64, 320},
                                                   {64, 640},
                                                   {64, 1280},
                                                   {64, 2560},
                                                   {128, 192},
                                                   {128, 384},
                                                   {128, 512},
                                                   {128, 768},
                                                   {128, 1024}});
constexpr auto h20_shapes = std::to_array<Shape>(
    {{64, 384}, {64, 768}, {64, 896}, {64, 3072}, {128, 96}, {128, 192}, {128, 384}, {128, 768}});
constexpr auto b200_shapes = std::to_array<Shape>({{16, 1024}});
constexpr auto l40s_shapes = std::to_array<Shape>({{8, 3584}, {128, 1856}});

constexpr auto a100_sglang_shapes = std::to_array<Shape>({{257, 64}});
constexpr auto h100_sglang_shapes = std::to_array<Shape>(
    {{16, 1856},  {16, 2048}, {32, 224},  {32, 448},   {32, 896},   {32, 928},   {32, 1792},
     {32, 1856},  {64, 192},  {64, 384},  {64, 768},   {64, 1536},  {64, 1856},  {128, 232},
     {128, 704},  {128, 768}, {128, 928}, {128, 1344}, {128, 2688}, {256, 672},  {256, 1344},
     {256, 2688}, {512, 64},  {512, 128}, {512, 336},  {512, 672},  {512, 1344}, {512, 2688}});
constexpr auto h200_sglang_shapes =
    std::to_array<Shape>({{20, 1536}, {32, 1792}, {161, 192}, {512, 64}, {512, 128}, {512, 256}});
constexpr auto b200_sglang_shapes = std::to_array<Shape>(
    {{16, 1856},  {16, 2048},  {32, 224},  {32, 448},  {32, 896},   {32, 928},   {32, 1792},
     {32, 1856},  {64, 192},   {64, 384},  {64, 464},  {64, 768},   {64, 1536},  {64, 1856},
     {64, 2688},  {128, 232},  {128, 352}, {128, 464}, {128, 704},  {128, 928},  {128, 1344},
     {128, 1856}, {128, 2688}, {256, 256}, {256, 512}, {256, 672},  {256, 1344}, {256, 2688},
     {512, 128},  {512, 256},  {512, 336}, {512, 672}, {512, 1344}, {512, 2688}});
constexpr auto l40s_sglang_shapes = std::to_array<Shape>({{128, 928}});

struct Device {
  std::string_view gpu;
  std::span<const Shape> both, only_sglang;
};

constexpr auto devices = std::to_array<Device>({{"a100-sxm", a100_shapes, a100_sglang_shapes},
                                                {"h100-sxm", h100_shapes, h100_sglang_shapes},
                                                {"h200-sxm", h200_shapes, h200_sglang_shapes},
                                                {"h20", h20_shapes, {}},
                                                {"b200-sxm", b200_shapes, b200_sglang_shapes},
                                                {"l40s", l40s_shapes, l40s_sglang_shapes}});

}  // namespace

bool is_tuned_moe_shape(Framework framework, std::string_view gpu, int experts, int width) {
  const auto device = std::ranges::find(devices, gpu, &Device::gpu);
  if (device == devices.end()) return false;
  const auto lists = [&](std::span<const Shape> shapes) {
    return std::ranges::find(shapes, Shape{experts, width}) != shapes.end();
  };
  return lists(device->both) || (framework == Framework::sglang && lists(device->only_sglang));
}

}  // namespace foretoken

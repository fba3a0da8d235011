// RaMP's Table III (arXiv 2604.26039): its eight layers from their models' files, classified on an
// H200 exactly as the paper does.
#include "kernels/tiles/moe_region.hpp"

#include <gmock/gmock.h>

#include "models/transformer.hpp"

namespace foretoken {
namespace {

struct Row {
  const char* model;
  int tp, ep;
  double rho, lambda, kappa;
  char regime;
  const char* modes;
};

MoeLayer layer_of_model(const Row& row) {
  const Transformer model = load_model(row.model, {});
  return layer_of(FusedMoe{.experts = model.moe->experts,
                           .topk = model.moe->topk,
                           .hidden = model.hidden,
                           .intermediate = model.moe->intermediate,
                           .dtype = DType::fp8,
                           .tp = row.tp,
                           .ep = row.ep});
}

void expect_row(const MoeLayer& layer, const Row& row) {
  SCOPED_TRACE(row.model);
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const RegionVariables variables = region_variables(layer, {}, 132, gpu);
  EXPECT_EQ(variables.compute_density, row.rho);
  EXPECT_EQ(variables.l2_pressure, row.lambda);
  EXPECT_EQ(variables.reduction_depth, row.kappa);
  const Region region = region_of(variables, region_thresholds(gpu, DType::fp8));
  EXPECT_EQ(enum_name(region)[0], row.regime);
  EXPECT_EQ(predicted_modes(layer_advice(layer, {}, gpu)), row.modes);
}

TEST(MoeRegion, ReproducesTable3) {
  // "DSv3-EP8" has 32 experts and the 512 columns of TP8 in Table IV; with EP alone it would keep
  // 4,096. The table's layer is taken.
  for (const Row& row : {Row{"olmoe-1b-7b", 1, 1, 128, 8, 16, 'A', "Tile only"},
                         Row{"qwen3-30b-a3b", 1, 1, 96, 6, 16, 'A', "Tile only"},
                         Row{"deepseek-v3", 8, 8, 112, 2, 56, 'A', "Tile + split-K"},
                         Row{"mixtral-8x22b", 1, 1, 6144, 128, 48, 'B', "Tile + GROUP_M"},
                         Row{"deepseek-v3", 8, 1, 112, 2, 56, 'A', "Tile + split-K"},
                         Row{"phi-3.5-moe", 1, 1, 1600, 50, 32, 'B', "Tile + GROUP_M"},
                         Row{"dbrx", 1, 1, 4032, 84, 48, 'B', "Tile + GROUP_M"}}) {
    expect_row(layer_of_model(row), row);
  }
  // Jamba 1.5 Mini's and Large's attention is among Mamba layers, for which there are no kernels
  // here; the experts are those of Mini's config.json (ai21labs/AI21-Jamba-1.5-Mini: hidden_size
  // 4096, num_experts 16) with the 8,192 of intermediate width that Table IV's N says.
  expect_row({16, 4096, 8192, DType::fp8},
             {"jamba-1.5", 1, 1, 2048, 64, 32, 'B', "Tile + GROUP_M"});
}

TEST(MoeRegion, HasNoFourthVariable) {
  // rho = lambda kappa wherever the tiles divide N and K: the paper's Table III has no exception.
  for (const char* name : {"olmoe-1b-7b", "mixtral-8x22b", "dbrx"}) {
    const RegionVariables variables = region_variables(
        layer_of_model({name, 1, 1, 0, 0, 0, ' ', ""}), {}, 1, load_gpu("h200-sxm", {}));
    EXPECT_EQ(variables.compute_density, variables.l2_pressure * variables.reduction_depth);
  }
}

}  // namespace
}  // namespace foretoken

// The predictor: what it prices itself, what it hands on, and its options' messages.
#include <gmock/gmock.h>

#include "kernels/predictor.hpp"
#include "kernels/tiles/tile_selector.hpp"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Predictor> tritonblas(const ValueObject& settings) {
  const Value options = settings;
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  auto predictor = predictor_catalog().find("tritonblas", {}).make(table);
  table.finish();
  diagnostics.throw_if_any();
  return predictor;
}

TEST(TritonBlas, PricesTheTileItSelects) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Prediction price = tritonblas({})->predict(Gemm{4096, 4096, 4096, DType::bf16}, gpu);
  const TileSelector selector(gpu, DType::bf16);
  EXPECT_EQ(price.time, selector.select(4096, 4096, 4096).time);
  EXPECT_EQ(price.origin, Origin::analytic);
  EXPECT_NE(price.bound_by, Bound::launch);
}

TEST(TritonBlas, PricesAGivenTile) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = Gemm{4096, 4096, 4096, DType::bf16};
  const Prediction best = tritonblas({})->predict(kernel, gpu);
  const Prediction tiny = tritonblas({{"tile", "16x32x64"}})->predict(kernel, gpu);
  EXPECT_GT(tiny.time, 2 * best.time);
}

TEST(TritonBlas, TakesNoLessThanALaunch) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Prediction price = tritonblas({})->predict(Gemm{1, 16, 16, DType::bf16}, gpu);
  EXPECT_GE(price.time, gpu.launch_latency);
}

TEST(TritonBlas, OthersPriceTheRest) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel norm = RmsNorm{128, 4096};
  EXPECT_EQ(tritonblas({})->predict(norm, gpu).origin, Origin::learned);
  EXPECT_EQ(tritonblas({{"others", "roofline"}})->predict(norm, gpu).origin, Origin::analytic);
  EXPECT_THAT(
      [&] {
        (void)tritonblas({{"others", "none"}})->predict(norm, gpu);
      },
      ThrowsMessage<PredictionError>(HasSubstr("tritonblas prices GEMMs only")));
}

TEST(TritonBlas, MistakesNameWhatIsKnown) {
  EXPECT_THAT(
      [] {
        (void)tritonblas({{"model", "origami_2052"}});
      },
      ThrowsMessage<ConfigError>(HasSubstr("origami_2025")));
  EXPECT_THAT(
      [] {
        (void)tritonblas({{"tile", "128x"}});
      },
      ThrowsMessage<ConfigError>(HasSubstr("128x256x64")));
  EXPECT_THAT(
      [] {
        (void)tritonblas({{"others", "nobody"}});
      },
      ThrowsMessage<ConfigError>(HasSubstr("roofline")));
}

}  // namespace
}  // namespace foretoken

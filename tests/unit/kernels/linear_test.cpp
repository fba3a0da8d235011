// The linear baseline with the constants inside the program.
#include <gtest/gtest.h>

#include "kernels/linear_model.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {
namespace {

Prediction predict(const Kernel& kernel, const GpuSpec& gpu) {
  const Value no_options;
  Diagnostics diagnostics;
  TableReader table(no_options, diagnostics, "predictor");
  return predictor_catalog().find("linear", {}).make(table)->predict(kernel, gpu);
}

TEST(Linear, IsItsFamilysConstantsOnTheRoofs) {
  // 2 x 4096^3 = 137.4 Gflop at 989.5 Tflop/s = 138.9 us; 3 x 4096^2 x 2 bytes at 4.8 TB/s = 20.97
  // us.
  const Kernel gemm = Gemm{4096, 4096, 4096, DType::bf16};
  const LinearModels models = embedded_linear_models();
  const LinearModel& model = models.at("gemm_16bit");
  const double expected = model.intercept + model.math * 138.9e-6 + model.memory * 20.97e-6;
  const Prediction prediction = predict(gemm, load_gpu("h200-sxm", {}));
  EXPECT_NEAR(prediction.time.value(), expected, 5e-3 * expected);
  EXPECT_EQ(prediction.bound_by, Bound::tensor);
}

TEST(Linear, MixedAttentionIsTwoLaunches) {
  Attention mixed{32, 8, 128};
  mixed.load = AttentionLoad::exact({{1, 2000}, {512, 512}});
  Attention prefill = mixed, decode = mixed;
  prefill.load = AttentionLoad::exact({{512, 512}});
  decode.load = AttentionLoad::exact({{1, 2000}});
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  EXPECT_NEAR(predict(mixed, gpu).time.value(),
              (predict(prefill, gpu).time + predict(decode, gpu).time).value(), 1e-12);
}

}  // namespace
}  // namespace foretoken

// The linear baseline with the constants inside the program.
#include <gtest/gtest.h>

#include "kernels/estimators/linear_model.hpp"
#include "kernels/predictor.hpp"

namespace foretoken::linear_test {
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

Attention attention(std::vector<SequenceSlice> slices, KernelSource source) {
  Attention attention{32, 8, 128};
  attention.load = AttentionLoad::exact(std::move(slices));
  attention.implementation.source = source;
  return attention;
}

// vLLM's FlashAttention-3. 2000 + 512 x 513 / 2 = 133,328 pairs of 32 heads are 4.266e6 scores: 512
// operations each at 989.4 Tflop/s 2.208 us, 4 on the FMA pipes at 30.92 T/s 0.552 us, and with the
// 16,416 rows an exponential each at 3.865 T/s 1.108 us. Queries and outputs are 8.405 MB, 2512
// cached tokens of 4 KiB 10.289 MB: at 3352 GB/s 5.577 us. The intercept is paid once.
TEST(Linear, MixedAttentionOfOneLaunchIsPricedOnce) {
  const Attention mixed = attention({{1, 2000}, {512, 512}}, KernelSource::automatic);
  const LinearModels models = embedded_linear_models();
  const LinearModel& model = models.at("attention_prefill");
  const double expected = model.intercept + model.math * 3.868e-6 + model.memory * 5.577e-6;
  EXPECT_NEAR(predict(mixed, load_gpu("h100-sxm", {})).time.value(), expected, 1e-3 * expected);
}

// vLLM's FlashInfer and TensorRT-LLM launch a kernel for each kind; Triton's is priced so.
TEST(Linear, MixedAttentionOfTwoLaunchesIsTheirSum) {
  for (const auto& [name, source] : {std::pair{"h100-sxm", KernelSource::flashinfer_fa2},
                                     {"b200-sxm", KernelSource::automatic},
                                     {"h100-sxm", KernelSource::triton}}) {
    const GpuSpec gpu = load_gpu(name, {});
    EXPECT_NEAR(predict(attention({{1, 2000}, {512, 512}}, source), gpu).time.value(),
                (predict(attention({{512, 512}}, source), gpu).time +
                 predict(attention({{1, 2000}}, source), gpu).time)
                    .value(),
                1e-12)
        << name << ' ' << enum_name(source);
  }
}

}  // namespace
}  // namespace foretoken::linear_test

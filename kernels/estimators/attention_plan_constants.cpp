#include "kernels/estimators/attention_plan_constants.hpp"

#include "hardware/compute_capability.hpp"

namespace foretoken {
namespace {

constexpr PlanConstants plan_bare_cuda_cores{3.32,  1.5,   0.952, 0.6,  1,    1.12,
                                             0.276, 0.309, 0.501, 0.85, 0.95, 3.51,
                                             3.13,  0.30,  0.10,  1.84, 0};
constexpr PlanConstants plan_bare_flashinfer{4.59,  1.5,  0.999, 0.6,   1,     1.97,
                                             0.586, 1.64, 0.524, 5.88,  0.965, 3.39,
                                             10,    0.30, 0.10,  0.627, 0};
constexpr PlanConstants plan_bare_fa3{4.64, 1.5,   1,   0.6, 1,    2.58, 1,     0.259, 0.214,
                                      2.98, 0.924, 1.5, 1,   0.30, 0.10, 0.471, 0};
constexpr PlanConstants plan_bare_fa2_decode{4.1, 1.5,  1,    0.524, 2,    3.76, 0.451, 1.08, 0.141,
                                             5.9, 0.92, 3.32, 9.93,  0.30, 0.10, 2.37,  0};
constexpr PlanConstants plan_bare_fa2{3.71,  1.5,  0.83, 0.853, 0.341, 9.78, 0.472, 0.025, 0.771,
                                      0.219, 0.95, 2.94, 3.12,  0.30,  0.10, 0.10,  0};

constexpr PlanConstants plan_fa2_vllm_decode{7.04, 1.5,  0.949, 0.435, 0.945, 4.09,
                                             0.92, 2.97, 0.045, 3.54,  0.63,  3.87,
                                             8.71, 0.30, 0.10,  0.71,  4.95};
constexpr PlanConstants plan_fa2_vllm{5.59, 1.5,   1,   0.443, 2.05, 1.84, 1,     1.84, 0.247,
                                      3.17, 0.217, 1.5, 1,     2.95, 0.1,  0.388, 0};
constexpr PlanConstants plan_fa2_sglang_decode{
    9.3, 1.5, 0.567, 0.21, 1.74, 17.1, 1, 0.047, 0.03, 6, 0.741, 5.9, 10, 0.30, 0.10, 0.741, 0};
constexpr PlanConstants plan_fa2_sglang{9.91,  1.5,   1,   0.774, 1.02, 0.972, 1,     0.02, 0.052,
                                        0.079, 0.553, 1.5, 1,     3.66, 0.10,  0.614, 0};
constexpr PlanConstants plan_fa3_vllm_decode{9.74,  1.71, 1,     0.266, 0.956, 0.856,
                                             1,     0.02, 0.036, 3.57,  0.746, 0.167,
                                             0.939, 0.30, 0.181, 1.31,  0};
constexpr PlanConstants plan_fa3_vllm{11,   1.05, 0.987, 0.386, 4.89, 19.8,  0.871,  0.649, 0,
                                      2.51, 1.5,  1.48,  10,    4,    0.971, 0.0909, 0};
constexpr PlanConstants plan_fa3_sglang_decode{
    8.36, 3.4, 1, 0.5, 1.1, 1.01, 1, 0.026, 0.039, 3.63, 0.908, 0.881, 7.95, 0.30, 0.32, 1.13, 0};
constexpr PlanConstants plan_fa3_sglang{9.63, 0.553, 0.893, 0.574, 0.822, 3.74, 1,     0.828, 0.257,
                                        2.9,  1.2,   0.463, 10,    1.6,   0.25, 0.323, 0};
constexpr PlanConstants plan_flashinfer_vllm_decode{9.98, 1.79,  0.816, 1.36, 0.985, 0.741,
                                                    0.27, 0.084, 0.033, 5.49, 0.875, 0.848,
                                                    9.63, 0.30,  0.046, 1.29, 0};
constexpr PlanConstants plan_flashinfer_vllm{
    6.14, 1.41, 1, 0.353, 1.28, 0.216, 0.526, 0.141, 0.714, 0.5, 0.519, 8, 10, 4, 0.18, 1.46, 0};
constexpr PlanConstants plan_flashinfer_sglang_decode{5.55,  4.21, 0.89,  1.5,   1.08,  3.9,
                                                      0.347, 0.12, 0.085, 4.05,  0.812, 2.9,
                                                      4.59,  0.30, 0.014, 0.221, 0};
constexpr PlanConstants plan_flashinfer_sglang{3.78,  2.83, 0.931, 0.719, 1.27, 0.621,
                                               0.824, 0,    0.641, 2.27,  0,    5.25,
                                               9.86,  2.65, 0.441, 0.945, 0};
/// On data-centre Blackwell FlashInfer's prefill is a CUTLASS kernel.
constexpr PlanConstants plan_flashinfer_b200_decode{
    2.16, 6.56, 1, 0.8, 1.67, 20, 0.791, 3, 0.413, 6, 0.111, 2.11, 10, 0.30, 0.868, 0.192, 0};
constexpr PlanConstants plan_flashinfer_b200{12.6, 2.7,   0.286, 0.178, 0.349, 18.5,
                                             0.85, 0.392, 0.287, 4.21,  1.01,  4.18,
                                             3.79, 0.423, 0.141, 0.224, 0};
/// TensorRT-LLM's kernels are closed: of a stand-in's plan (decomposers/trtllm_attention.cpp).
constexpr PlanConstants plan_trtllm_vllm_decode{8.64, 0.34, 1,     0.85, 4.64, 11.2,
                                                0.16, 0.05, 0.002, 1.43, 0.97, 1.81,
                                                0.84, 0.30, 0.01,  0.82, 0};
constexpr PlanConstants plan_trtllm_vllm{8.18, 0.138, 0.54, 0.384, 4.96, 19.6,  1,     0, 0.565,
                                         1.57, 0,     1.7,  0.7,   3.94, 0.694, 0.352, 0};
constexpr PlanConstants plan_trtllm_sglang_decode{
    9.09, 6.46, 1, 1.5, 0.61, 3.93, 0.14, 0.03, 0.002, 1.46, 1.40, 1.5, 1, 0.30, 0.01, 1.17, 0};
constexpr PlanConstants plan_trtllm_sglang{7.46, 6.66,  0.473, 1.46, 0.00634, 19.7, 0.896, 0, 0.687,
                                           1.92, 0.365, 6.48,  0.08, 0.359,   1.17, 0.639, 0};

/// Image encoders: fitted to AIConfigurator's encoder_attention_perf (H100, H200, B200, L40S), so
/// that what the L2 has never comes slower than from DRAM.
constexpr PlanConstants plan_encoder_fa2{6.22, 0,     0.694, 0.425, 0.983, 0.767, 1,    0.189, 1.2,
                                         6,    0.747, 6.91,  0.293, 0,     0,     2.31, 0,     0};
constexpr PlanConstants plan_encoder_fa3_vllm{
    7.03, 0, 0.892, 0.579, 0.569, 9.6, 1, 0.233, 0.34, 3.38, 0.449, 3.51, 10, 0, 0, 0.347, 0, 0};
constexpr PlanConstants plan_encoder_fa3_sglang{7.48,  0,     0.995, 0.646, 5,     20,
                                                0.984, 0.402, 0.217, 3.01,  0.168, 8,
                                                0.988, 0,     0,     0.262, 0,     0.115};
constexpr PlanConstants plan_encoder_fa4_vllm{
    6.47, 0, 0.307, 0.274, 0.319, 0.666, 0.691, 0.2, 0, 5.02, 1.07, 5.47, 0, 0, 0, 0.76, 0, 0.079};
constexpr PlanConstants plan_encoder_fa4_sglang{6.21,  0,      0.323, 0.377, 0.3,  0.948,
                                                0.513, 0.0303, 0.175, 4.82,  1.01, 8,
                                                1.98,  0,      0,     0.714, 0,    0.0791};
constexpr PlanConstants plan_encoder_triton{1.69,  0,      0.2,     0.745, 2.36,    20,
                                            0.302, 0.0246, 0.00396, 2.84,  0.00171, 4.63,
                                            0.442, 0,      0,       0.545, 0,       0.142};
constexpr PlanConstants plan_encoder_trtllm{10.9,  0,      0.365,  0.327, 1.13,  0.669,
                                            0.963, 0.0693, 0.0919, 2.37,  0.291, 0.641,
                                            1.64,  0,      0,      0.324, 0,     0.119};

/// TensorRT-LLM under itself: fitted to its own tables (H100, H200, B200, L40S; prompts on an A100
/// too). Before Hopper and on it keys of 8 bits are another kernel's than those of 16; on Blackwell
/// one kernel has both.
constexpr PlanConstants plan_own_trtllm_masked{8.49, 0.875, 1, 0.879, 1.05, 1.12, 0.621, 3, 0.573,
                                               4.6,  1.07,  0, 0,     0,    0,    0.453, 0};
constexpr PlanConstants plan_own_trtllm_hopper_decode_16{
    9.07, 0, 1, 0.649, 0.3, 0.954, 0.1, 0.0192, 0, 4.29, 1, 0, 0, 0, 0, 0.34, 0};
constexpr PlanConstants plan_own_trtllm_hopper_decode_8{
    5.65, 1.2, 1, 0.649, 0.3, 20, 0.152, 0, 0.0173, 0.662, 1.5, 0, 0, 0, 0, 0.316, 0};
constexpr PlanConstants plan_own_trtllm_before_decode_16{
    8.95, 0, 0.797, 1.5, 0.947, 0.485, 0.283, 0.000693, 0.038, 3.35, 0.72, 0, 0, 0, 0, 0.86, 0};
constexpr PlanConstants plan_own_trtllm_before_decode_8{
    5.47, 5.59, 0.99, 0.605, 0.938, 0.408, 0.527, 0, 0, 4.77, 0.888, 0, 0, 0, 0.25, 4, 0};
constexpr PlanConstants plan_own_trtllm_blackwell_decode{
    9.95, 0, 1, 1.46, 0.711, 20, 0.114, 0, 0.00942, 1.31, 0.675, 0, 0, 0, 0, 0.766, 0};
constexpr PlanConstants plan_own_trtllm_hopper{
    13, 0.3, 0.289, 0.187, 0.459, 1.49, 1, 0, 0.404, 3.46, 0.4, 0, 0, 0, 0.0253, 0.38, 0};
constexpr PlanConstants plan_own_trtllm_before{
    6.44, 0.682, 0.387, 0.188, 1.12, 0.456, 1, 0, 1.11, 0, 0.0287, 0, 0, 0.607, 0.317, 0.424, 0};
constexpr PlanConstants plan_own_trtllm_blackwell{
    12.8, 0, 0.2, 0.179, 0.788, 20, 1, 0, 0.6, 1.89, 0.963, 0, 0, 0, 0.0154, 0.249, 0};

const PlanConstants& trtllm_constants(const Attention& kernel, bool is_decode,
                                      const AttentionSchedule& schedule, const GpuSpec& gpu) {
  const bool is_small = bytes_per_element(kernel.kv_dtype) < 2;
  const bool is_blackwell = is_datacentre_blackwell(gpu);
  const bool is_hopper = gpu.compute_capability == hopper;
  if (is_decode) {
    if (schedule.on_cuda_cores) return plan_own_trtllm_masked;
    if (is_blackwell) return plan_own_trtllm_blackwell_decode;
    if (is_hopper) {
      return is_small ? plan_own_trtllm_hopper_decode_8 : plan_own_trtllm_hopper_decode_16;
    }
    return is_small ? plan_own_trtllm_before_decode_8 : plan_own_trtllm_before_decode_16;
  }
  if (is_blackwell) return plan_own_trtllm_blackwell;
  return is_hopper ? plan_own_trtllm_hopper : plan_own_trtllm_before;
}

const PlanConstants& encoder_constants(const AttentionSetting& setting) {
  switch (setting.code) {
    case AttentionCode::fa3:
      return setting.is_sglang ? plan_encoder_fa3_sglang : plan_encoder_fa3_vllm;
    case AttentionCode::fa4:
      return setting.is_sglang ? plan_encoder_fa4_sglang : plan_encoder_fa4_vllm;
    case AttentionCode::triton:
      return plan_encoder_triton;
    case AttentionCode::trtllm:
      return plan_encoder_trtllm;
    default:
      return plan_encoder_fa2;
  }
}

const PlanConstants& bare_constants(const AttentionSetting& setting, bool is_decode,
                                    const AttentionSchedule& schedule) {
  if (schedule.on_cuda_cores) return plan_bare_cuda_cores;
  if (setting.code == AttentionCode::fa3) return plan_bare_fa3;
  if (setting.code == AttentionCode::flashinfer) return plan_bare_flashinfer;
  return is_decode ? plan_bare_fa2_decode : plan_bare_fa2;
}

const PlanConstants& flashinfer_constants(const AttentionSetting& setting, bool is_decode,
                                          const GpuSpec& gpu) {
  const bool is_b200 = is_datacentre_blackwell(gpu);
  if (is_b200) return is_decode ? plan_flashinfer_b200_decode : plan_flashinfer_b200;
  if (setting.is_sglang) return is_decode ? plan_flashinfer_sglang_decode : plan_flashinfer_sglang;
  return is_decode ? plan_flashinfer_vllm_decode : plan_flashinfer_vllm;
}

}  // namespace

const PlanConstants& plan_constants(const Attention& kernel, const AttentionSetting& setting,
                                    bool is_decode, const AttentionSchedule& schedule,
                                    const GpuSpec& gpu) {
  if (is_encoder(kernel, setting)) return encoder_constants(setting);
  if (setting.is_trtllm) return trtllm_constants(kernel, is_decode, schedule, gpu);
  if (setting.is_bare) return bare_constants(setting, is_decode, schedule);
  const auto choose = [&](const PlanConstants& vllm_decode, const PlanConstants& vllm,
                          const PlanConstants& sglang_decode,
                          const PlanConstants& sglang) -> const PlanConstants& {
    if (setting.is_sglang) return is_decode ? sglang_decode : sglang;
    return is_decode ? vllm_decode : vllm;
  };
  switch (setting.code) {
    case AttentionCode::fa3:
      return choose(plan_fa3_vllm_decode, plan_fa3_vllm, plan_fa3_sglang_decode, plan_fa3_sglang);
    case AttentionCode::flashinfer:
      return flashinfer_constants(setting, is_decode, gpu);
    case AttentionCode::trtllm:
      return choose(plan_trtllm_vllm_decode, plan_trtllm_vllm, plan_trtllm_sglang_decode,
                    plan_trtllm_sglang);
    default:
      return choose(plan_fa2_vllm_decode, plan_fa2_vllm, plan_fa2_sglang_decode, plan_fa2_sglang);
  }
}

}  // namespace foretoken

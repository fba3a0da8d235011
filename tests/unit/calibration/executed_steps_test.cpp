// Executed steps: reading the two tables, the kernels that they are priced as, and the report.
#include "calibration/datasets/executed_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/evaluate/step_report.hpp"
#include "kernels/estimators/in_step_predictor.hpp"
#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;

constexpr const char* steps_header =
    "# format: foretoken steps 1\n# gpu: NVIDIA H200\n# framework: pytorch\n"
    "# attention: flash_attention_2\n"
    "step,model,tp,ranks,phase,prefill,decode,gpu_us,launches,graph_host_us,eager_host_us,"
    "rested_us,run,stands_for\n";
constexpr const char* kernels_header =
    "# format: foretoken step kernels 1\nstep,role,launches,time_us,kernel_name\n";

std::vector<ExecutedStep> read(const std::string& steps, const std::string& kernels) {
  const DataFolder folder;
  folder.write("h200/steps.csv", steps_header + steps);
  folder.write("h200/steps_kernels.csv", kernels_header + kernels);
  return load_executed_steps(folder.path());
}

std::string refusal(const std::string& steps, const std::string& kernels = "") {
  try {
    read(steps, kernels);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ExecutedSteps, AreReadWithTheirKernels) {
  const std::vector<ExecutedStep> steps =
      read("7,llama-3.1-8b,2,1,mixed,512x2560|30x30,1024x16|77x1,1000,4,12,300,,,1\n",
           "7,qkv_proj,3,600,gemm_a + gemm_b\n7,logits_cast,1,200,copy\n");
  ASSERT_EQ(steps.size(), 1u);
  const ExecutedStep& step = steps[0];
  EXPECT_EQ(step.file, "h200/steps.csv");
  EXPECT_EQ(step.gpu, "h200-sxm");
  EXPECT_EQ(step.layout.tensor, 2);
  EXPECT_EQ(step.batch.tokens, 512 + 30 + 16 + 1);
  EXPECT_EQ(step.batch.logit_rows, 19);
  EXPECT_EQ(step.batch.attention.decode.context_tokens, 16 * 1024 + 77);
  EXPECT_EQ(step.batch.attention.prefill.context_tokens_max, 2560);
  // 800 us of kernels in 1000 us: 4 gaps of 0.5 us, and a clock that stretches the rest by 998/800.
  ASSERT_EQ(step.roles.size(), 2u);
  EXPECT_NEAR(step.roles[0].time.value(), (600 * 998.0 / 800 + 1.5) * 1e-6, 1e-12);
  EXPECT_NEAR(step.roles[1].time.value(), (200 * 998.0 / 800 + 0.5) * 1e-6, 1e-12);
}

TEST(ExecutedSteps, BecomeKernelsOfARankWithoutCollectivesWhereItRanAlone) {
  const std::vector<ExecutedStep> steps = read(
      "0,qwen3-32b,4,1,decode,,1024x16,1000,4,12,300,,,1\n"
      "1,qwen3-32b,4,4,decode,,1024x16,1000,4,12,300,,,1\n",
      "");
  const Transformer model = load_model("qwen3-32b", {});
  const auto collectives = [](const KernelSequence& kernels) {
    return std::ranges::count_if(kernels, [](const KernelCall& call) {
      return std::holds_alternative<Collective>(call.kernel);
    });
  };
  const KernelSequence alone = kernels_of(steps[0], model);
  EXPECT_EQ(collectives(alone), 0);
  EXPECT_EQ(collectives(kernels_of(steps[1], model)), 4);  // embedding, 2 a layer, logits
  const auto attention = std::ranges::find_if(
      alone, [](const KernelCall& call) { return std::holds_alternative<Attention>(call.kernel); });
  const auto& kernel = std::get<Attention>(attention->kernel);
  EXPECT_EQ(kernel.query_heads, 16);
  EXPECT_EQ(kernel.kv_heads, 2);
  EXPECT_EQ(kernel.page_tokens, 0);
  EXPECT_EQ(kernel.implementation,
            (Implementation{Framework::pytorch, KernelSource::flash_attention_2, true}));
  const auto& product = std::get<Gemm>(alone[3].kernel);  // behind embedding and two norms
  EXPECT_EQ(product.implementation.framework, Framework::pytorch);
}

TEST(ExecutedSteps, SayWhatIsWrongWithATable) {
  EXPECT_THAT(refusal("0,llama-3.1-8b,1,1,decode,,1024,1000,4,12,300,,,1\n"),
              HasSubstr("'1024' must be two counts"));
  EXPECT_THAT(refusal("0,llama-3.1-8b,1,1,decode,,0x4,1000,4,12,300,,,1\n"),
              HasSubstr("'0x4' must be two counts"));
  EXPECT_THAT(refusal("0,llama-3.1-8b,1,1,decode,,,1000,4,12,300,,,1\n"),
              HasSubstr("neither prefill nor decode"));
  const DataFolder folder;
  folder.write("steps.csv", steps_header);
  EXPECT_THROW(load_executed_steps(folder.path()), ConfigError);
}

// Every launch costs 1 us: 32 layers of 10 kernels, and embedding, norm, head and sampling besides.
TEST(StepReport, SumsAndJudges) {
  const std::vector<ExecutedStep> steps = read(
      "0,llama-3.1-8b,1,1,decode,,1024x16,400,300,12,900,,,1\n"
      "1,llama-3.1-8b,1,1,prefill,512x512,,250,300,14,1200,240,,1\n",
      "0,qkv_proj,32,64,gemm\n0,logits_cast,1,336,copy\n");
  const StepReport report(steps, {{"one", [](const Kernel&, const GpuSpec&) { return 1e-6; }},
                                  {"two", [](const Kernel&, const GpuSpec&) { return 2e-6; }}});
  ASSERT_EQ(report.steps().size(), 8u);  // all, the layout, rested prefill, their phases
  const StepReport::Line& all = report.steps()[0];
  EXPECT_EQ(all.group, "all");
  EXPECT_NEAR(all.predicted.value(), 2 * (32 * 10 + 4) * 1e-6, 1e-12);
  EXPECT_NEAR(all.measured.value(), 650e-6, 1e-12);
  // Steps of 324 us: 0.19 short of 400, 0.296 over 250; the second predictor has 648.
  EXPECT_NEAR(all.boards[0].score().mape, (0.19 + 0.296) / 2, 1e-9);
  EXPECT_NEAR(all.boards[1].score().mape, (0.62 + 1.592) / 2, 1e-9);
  EXPECT_EQ(report.steps()[1].phase, "decode");
  EXPECT_EQ(report.steps()[6].group, "rested");
  EXPECT_NEAR(report.steps()[6].boards[0].score().mape, 0.35, 1e-9);  // 324 over 240
  const StepReport::Line& qkv = report.roles()[0];
  EXPECT_EQ(qkv.kernel, "gemm");
  EXPECT_NEAR(qkv.predicted / qkv.measured, 0.5, 1e-9);  // 32 us of 64, without gaps
  const std::string text = report.text();
  EXPECT_THAT(text, HasSubstr("no price"));
  EXPECT_THAT(text, HasSubstr("host: 14.0 us to launch a step's graph, 4.0 us per launch"));
}

// 324 launches of 1 us a step. A run of one prefill and three decodes, of which one was timed:
// 500 + 3 * 250 us measured, 4 * 324 predicted; lines of single steps leave it out.
TEST(StepReport, AddsUpRuns) {
  const std::vector<ExecutedStep> steps = read(
      "0,llama-3.1-8b,1,1,prefill,512x512,,500,300,14,1200,240,chat,1\n"
      "1,llama-3.1-8b,1,1,decode,,1024x16,250,300,12,900,,chat,3\n"
      "2,llama-3.1-8b,1,1,decode,,1024x16,400,300,12,900,,,1\n",
      "");
  const StepReport report(steps, {{"one", [](const Kernel&, const GpuSpec&) { return 1e-6; }},
                                  {"two", [](const Kernel&, const GpuSpec&) { return 2e-6; }}});
  ASSERT_EQ(report.runs().runs().size(), 1u);
  const ExecutedRuns::Run& run = report.runs().runs()[0];
  EXPECT_EQ(run.name, "chat");
  EXPECT_EQ(run.of, "llama-3.1-8b TP1 on h200-sxm");
  EXPECT_EQ(run.steps, 4);
  EXPECT_NEAR(run.measured.value(), 1250e-6, 1e-12);
  EXPECT_NEAR(run.error(0), 1296.0 / 1250 - 1, 1e-9);
  EXPECT_NEAR(run.error(1), 2592.0 / 1250 - 1, 1e-9);
  EXPECT_EQ(report.steps()[0].boards[0].score().rows, 1u);
  EXPECT_THAT(report.text(), HasSubstr("llama-3.1-8b TP1 on h200-sxm, chat"));
}

// What was executed on our H200, priced as shipped: the limits are those of README.md's table.
TEST(StepReport, OwnStepsAreWithinTheLimits) {
  const std::vector<ExecutedStep> steps =
      load_executed_steps(std::string(FORETOKEN_SOURCE_DIR) + "/calibration/datasets");
  ASSERT_GE(steps.size(), 500u);
  Value no_fallback;
  no_fallback.set("fallback", Value("none"));
  Diagnostics diagnostics;
  TableReader options(no_fallback, diagnostics, "synperf");
  const std::shared_ptr<const Predictor> synperf =
      in_step(predictor_catalog().find("synperf", {}).make(options));
  const StepReport report(steps, {{"synperf", [&](const Kernel& kernel, const GpuSpec& gpu) {
                                     return synperf->predict(kernel, gpu).time.value();
                                   }}});
  std::cout << report.text({.is_brief = true});
  // Two models ran batches of one name.
  ASSERT_EQ(report.runs().runs().size(), 6u);
  for (const ExecutedRuns::Run& run : report.runs().runs()) {
    EXPECT_LE(std::abs(run.error(0)), 0.08) << run.name;
  }
  const auto median = [&](const std::string& group, const std::string& phase) {
    const auto line = std::ranges::find_if(report.steps(), [&](const StepReport::Line& one) {
      return one.group == group && one.phase == phase;
    });
    return line->boards[0].score().median;
  };
  EXPECT_LE(median("all", ""), 0.07);
  EXPECT_LE(median("all", "decode"), 0.05);
  EXPECT_LE(median("rested", "prefill"), 0.08);
  EXPECT_LE(median("rested", "mixed"), 0.09);
  for (const StepReport::Line& role : report.roles()) {
    if (role.kernel == "gemm" && role.phase == "decode") {
      EXPECT_LE(role.boards[0].score().median, 0.08) << role.group;
    }
  }
}

}  // namespace
}  // namespace foretoken

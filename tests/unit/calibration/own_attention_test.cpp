// PyTorch's FlashAttention-2 on our H200, layouts that training never saw, as the shipped artifacts
// price it: a source that is in no public table.
#include <gtest/gtest.h>

#include <map>

#include "calibration/datasets/dataset.hpp"
#include "calibration/evaluate/score.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {
namespace {

TEST(OwnAttention, IsPricedOnLayoutsHeldOut) {
  const Dataset dataset = load_own_measurements(
      std::string(FORETOKEN_SOURCE_DIR) + "/calibration/datasets/h200/attention_torch.csv.gz",
      [](const Sample& sample) { return is_held_out_layout(sample.layout); });
  const Value no_options;
  Diagnostics diagnostics;
  TableReader options(no_options, diagnostics, "synperf");
  const auto predictor = predictor_catalog().find("synperf", {}).make(options);
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  std::map<std::string, ScoreBoard> boards;
  for (const Sample& sample : dataset.samples) {
    const AttentionLoad& load = std::get<Attention>(sample.kernel).load;
    if (load.prefill.sequences > 0 && load.decode.sequences > 0) continue;  // mixed: two prices
    const std::string kind = load.decode.sequences > 0 ? " decode" : " prefill";
    boards[sample.source_name + kind].add(predictor->predict(sample.kernel, gpu).time.value(),
                                          sample.time.value());
  }
  for (const auto& [kind, board] : boards) {
    const Score score = board.score();
    std::cout << fmt::format("{:28} {:3} launches, {:.1f} % off, median {:.1f} %\n", kind,
                             score.rows, 100 * score.mape, 100 * score.median);
  }
  // Few and unequal prompts; the first-order time knows their mean only.
  const std::map<std::string, double> mape_max{{"torch_flash decode", 0.09},
                                               {"torch_flash prefill", 0.09},
                                               {"torch_flash_varlen prefill", 0.30}};
  for (const auto& [kind, most] : mape_max) {
    const Score score = boards[kind].score();
    EXPECT_GE(score.rows, 5U) << kind << ": no launches, so that nothing is judged";
    EXPECT_LE(score.mape, most) << kind;
  }
}

}  // namespace
}  // namespace foretoken

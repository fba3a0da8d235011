// Judging drafts: more of them, or more logits each, never cost less, whichever engine judges.

#include <gtest/gtest.h>

#include "sim/prices/step_price.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::draft_verification_test {
namespace {

/// What a decode step's tokens are drawn in, and judged in, by the default predictor.
struct Drawn {
  double sampling = 0, verification = 0;
  [[nodiscard]] double all() const { return sampling + verification; }
};
Drawn drawn_in(const Scenario& scenario, const Predictor& predictor, std::int64_t vocabulary,
               std::int64_t sequences, std::int64_t drafts) {
  Transformer model = scenario.model;
  model.vocabulary = vocabulary;
  BatchShape batch;
  batch.attention = AttentionLoad::exact(
      std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {1 + drafts, 500 + drafts}),
      1 + drafts);
  batch.tokens = batch.logit_rows = batch.attention.query_tokens();
  batch.draft_rows = sequences * drafts;
  batch.verifying = drafts > 0 ? sequences : 0;
  const CommSettings comm{scenario.cluster.comm, scenario.deployment.all_reduce};
  const StepCost cost =
      price_step(model, {}, scenario.execution, scenario.cluster, comm, predictor, batch);
  Drawn drawn;
  for (const StepKernel& kernel : cost.stages.front()) {
    if (kernel.role == "sampling") drawn.sampling += kernel.time.value();
    if (kernel.role == "draft_verification") drawn.verification += kernel.time.value();
  }
  return drawn;
}

// But for the argmax itself, which shares rows among CTAs from a vocabulary of 131,072 on and is
// then quicker: PyTorch's was measured so.
TEST(DraftVerificationProperties, MoreDraftsAndLargerVocabulariesAreNeverCheaper) {
  for (const std::string cluster : {"h200-sxm-1", "l40s-1", "b200-sxm-8"}) {
    for (const std::string framework : {"vllm", "sglang", "trtllm"}) {
      for (const std::string sampling : {"greedy", "top_p"}) {
        const Scenario scenario =
            scenario_from(lone_request, {"cluster.name=" + cluster, "engine.framework=" + framework,
                                         "engine.sampling=" + sampling});
        const auto predictor = make_predictor(Catalogs().predictors, scenario.predictor.name, {});
        for (const std::int64_t sequences : {1, 7, 64, 256}) {
          const std::string what = cluster + ' ' + framework + ' ' + sampling;
          for (std::int64_t drafts = 1; drafts <= 8; ++drafts) {
            const auto at = [&](std::int64_t vocabulary, std::int64_t number) {
              return drawn_in(scenario, *predictor, vocabulary, sequences, number);
            };
            const Drawn drawn = at(128'256, drafts);
            EXPECT_GE(drawn.all(), at(128'256, drafts - 1).all())
                << what << ' ' << sequences << " x " << drafts;
            EXPECT_GE(at(151'936, drafts).verification, drawn.verification)
                << what << ' ' << sequences << " x " << drafts;
            EXPECT_GE(drawn.verification, at(32'000, drafts).verification)
                << what << ' ' << sequences << " x " << drafts;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken::draft_verification_test

#include "sim/run/speculation_payoff.hpp"

#include <algorithm>

#include "sim/prices/scenario_prices.hpp"
#include "sim/prices/step_price.hpp"
#include "sim/run/draft_deployment.hpp"
#include "sim/serving/host_clock.hpp"

namespace foretoken {
namespace {

class PayoffPricer {
 public:
  PayoffPricer(const Scenario& scenario, const Registry<PredictorFactory>& predictors,
               std::int64_t context_tokens)
      : scenario_(scenario),
        comm_(communication_of(scenario)),
        predictor_(step_predictor(scenario, predictors)),
        speculation_(make_speculation(scenario, ReplicaId{0}, nullptr)),
        tree_(draft_tree(*scenario.engine.speculative)),
        context_tokens_(context_tokens) {}

  [[nodiscard]] DraftPayoff::Step step(std::int64_t sequences) const {
    const Seconds plain = with_host(price(batch(sequences, 0)), sequences);
    DraftPayoff::Step priced{sequences, plain.value() * 1e3, plain.value() * 1e3};
    const int verified = verified_of(sequences);
    if (verified == 0) return priced;
    SpeculativeSettings speculative = *scenario_.engine.speculative;
    if (!speculative.is_tree()) speculative.drafts = verified;
    const BatchShape shape = batch(sequences, verified);
    Seconds time = price(shape) + speculative.host_time * stretch_of(scenario_, "host");
    for (const DraftPasses& pass :
         price_drafts(speculative, scenario_.deployment.layout, scenario_.execution,
                      scenario_.cluster, comm_, *predictor_, shape))
      time += pass.time();
    priced.speculative_ms = with_host(time, sequences).value() * 1e3 / tokens_of(verified);
    return priced;
  }

  /// Drafted tokens in steps of so many sequences; 0: the engine does without.
  [[nodiscard]] int verified_of(std::int64_t sequences) const {
    return speculation_.drafts_after(sequences);
  }
  /// That a step gives a sequence on average.
  [[nodiscard]] double tokens_of(int verified) const {
    return tree_.expected_tokens(static_cast<std::size_t>(verified));
  }

 private:
  /// With what the GPU waits for the CPU, behind another step of this kind. Launches are left out:
  /// steps of decodes replay graphs.
  [[nodiscard]] Seconds with_host(Seconds step, std::int64_t sequences) const {
    HostClock host(scenario_.engine.host.here(stretch_of(scenario_, "host")));
    const HostWork work{.sequences = sequences, .tokens = sequences};
    const Seconds begin = step + host.delay(Seconds(0.0), step, work);
    host.step_ended(begin);
    return step + host.delay(begin, step, work);
  }
  [[nodiscard]] BatchShape batch(std::int64_t sequences, int drafts) const {
    const SequenceSlice slice{1 + drafts, context_tokens_ + drafts};
    BatchShape shape;
    shape.attention = AttentionLoad::exact(
        std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), slice), 1 + drafts);
    shape.tokens = shape.logit_rows = shape.attention.query_tokens();
    shape.draft_rows = sequences * drafts;
    shape.verifying = drafts > 0 ? sequences : 0;
    shape.stage_tokens = shape.tokens * scenario_.deployment.layout.data_parallel_attention;
    shape.stage_tokens_max = shape.tokens;
    return shape;
  }
  [[nodiscard]] Seconds price(const BatchShape& shape) const {
    const StepCost cost =
        price_step(scenario_.model, scenario_.deployment.layout, scenario_.execution,
                   scenario_.cluster, comm_, *predictor_, shape);
    return cost.compute() + cost.communication();
  }

  const Scenario& scenario_;
  CommSettings comm_;
  std::unique_ptr<Predictor> predictor_;
  Speculation speculation_;
  DraftTree tree_;
  std::int64_t context_tokens_;
};

}  // namespace

DraftPayoff speculation_payoff(const Scenario& scenario,
                               const Registry<PredictorFactory>& predictors,
                               std::int64_t context_tokens) {
  const PayoffPricer pricer(scenario, predictors, context_tokens);
  const std::int64_t limit = scenario.engine.sequences_max;
  // Where the engine does without drafts by itself, they cost nothing.
  const auto pays = [&](const DraftPayoff::Step& step) {
    return pricer.verified_of(step.sequences) == 0 || step.speculative_ms < step.plain_ms;
  };
  DraftPayoff payoff;
  payoff.context_tokens = context_tokens;
  payoff.tokens_per_step = pricer.tokens_of(scenario.engine.speculative->verified());
  std::int64_t paid = 0;
  for (std::int64_t sequences = 1;; sequences = std::min(2 * sequences, limit)) {
    payoff.steps.push_back(pricer.step(sequences));
    if (!payoff.pays_below) {
      if (pays(payoff.steps.back())) {
        paid = sequences;
      } else {
        payoff.pays_below = sequences;
      }
    }
    if (sequences == limit) break;
  }
  while (payoff.pays_below && *payoff.pays_below - paid > 1) {
    const std::int64_t between = (paid + *payoff.pays_below) / 2;
    (pays(pricer.step(between)) ? paid : *payoff.pays_below) = between;
  }
  return payoff;
}

}  // namespace foretoken

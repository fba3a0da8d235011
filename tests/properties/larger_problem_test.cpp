// A larger problem (more tokens, rows, sequences, longer prompts or contexts) costs no less, but
// for steps of the tiles and plans that first-order times know of
// (kernels/estimators/larger_problems.hpp). Families that networks price in more than one size, or
// on unequal sequences, keep this but for a few pairs, which are counted.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "kernels/estimators/estimator.hpp"
#include "kernels/kernel_shape.hpp"
#include "sim/run/run.hpp"
#include "tests/properties/random_kernel.hpp"

namespace foretoken::larger_problem_test {
namespace {

std::int64_t grown(std::int64_t size, double by) {
  return std::max(size + 1, static_cast<std::int64_t>(static_cast<double>(size) * by + 0.5));
}

template <class Own>
Kernel with_load(Own own, std::vector<SequenceSlice> slices) {
  const std::int64_t decodes = std::max<std::int64_t>(own.load.decode.query_tokens_max, 1);
  own.load = AttentionLoad::exact(std::move(slices), decodes);
  return own;
}

/// Longer contexts, more sequences like the first, longer prompts.
template <class Own>
void grow_attention(const Own& own, double by, std::vector<Kernel>& out) {
  const std::vector<SequenceSlice>& before = own.load.sequences;
  if (before.empty()) return;
  std::vector<SequenceSlice> longer = before, more = before, prompts = before;
  for (SequenceSlice& slice : longer) slice.context_tokens = grown(slice.context_tokens, by);
  more.resize(static_cast<std::size_t>(grown(static_cast<std::int64_t>(before.size()), by)),
              *std::ranges::max_element(before, {}, &SequenceSlice::context_tokens));
  for (SequenceSlice& slice : prompts) {
    if (slice.query_tokens == 1) continue;
    const std::int64_t added = grown(slice.query_tokens, by) - slice.query_tokens;
    slice.query_tokens += added;
    slice.context_tokens += added;
  }
  for (auto* slices : {&longer, &more, &prompts}) {
    if (*slices != before) out.push_back(with_load(own, std::move(*slices)));
  }
}

template <class Own>
void grow_states(const Own& own, double by, std::vector<Kernel>& out) {
  Own more = own, longer = own;
  StateLoad& load = more.load;
  if (load.prefill_sequences > 0) {
    const std::int64_t tokens =
        (load.prefill_tokens + load.prefill_sequences - 1) / load.prefill_sequences;
    load.prefill_sequences = grown(load.prefill_sequences, by);
    load.prefill_tokens = load.prefill_sequences * tokens;
    longer.load.prefill_tokens = grown(longer.load.prefill_tokens, by);
    if (load.prefill_longest > 0) longer.load.prefill_longest = grown(load.prefill_longest, by);
    out.emplace_back(longer);
  } else {
    load.decode_sequences = load.decode_tokens = grown(load.decode_sequences, by);
  }
  out.emplace_back(more);
}

/// `kernel` with each of its sizes grown.
std::vector<Kernel> larger(const Kernel& kernel, double by) {
  std::vector<Kernel> out;
  const auto grow = [&](auto own, auto member) {
    own.*member = grown(own.*member, by);
    out.emplace_back(own);
  };
  std::visit(
      [&]<class Own>(const Own& own) {
        if constexpr (requires { own.load.sequences; }) {
          grow_attention(own, by, out);
        } else if constexpr (requires { own.load.prefill_tokens; }) {
          grow_states(own, by, out);
        } else if constexpr (requires { own.tokens; }) {
          grow(own, &Own::tokens);
        } else if constexpr (requires { own.rows; }) {
          grow(own, &Own::rows);
        } else if constexpr (requires { own.m; }) {
          grow(own, &Own::m);
        }
      },
      kernel);
  return out;
}

/// All sequences like the first.
Kernel with_equal_sequences(const Kernel& kernel) {
  return std::visit(
      []<class Own>(const Own& own) -> Kernel {
        if constexpr (requires { own.load.sequences; }) {
          const std::vector<SequenceSlice>& before = own.load.sequences;
          if (!before.empty()) {
            return with_load(own, std::vector<SequenceSlice>(before.size(), before.front()));
          }
        }
        return own;
      },
      kernel);
}

struct Count {
  int pairs = 0, undercut = 0;
  double worst = 1;  // price of a larger problem over that of the smaller
  std::string what;
};

class LargerProblem : public testing::Test {
 protected:
  std::unique_ptr<Predictor> predictor_ = make_predictor(predictor_catalog(), "synperf", {});

  /// By family: random kernels on parts that were measured, each with each of its sizes grown.
  std::map<std::string, Count> counts(int seeds, bool with_equal) {
    std::map<std::string, Count> result;
    for (const char* name : {"a100-sxm", "h100-sxm", "h200-sxm", "b200-sxm", "l40s"}) {
      const GpuSpec gpu = load_gpu(name, {});
      for (int seed = 1; seed <= seeds; ++seed) {
        Draw draw(static_cast<std::uint32_t>(seed));
        for (int i = 0; i < 300; ++i) {
          const Kernel drawn = random_kernel(draw);
          const double by = draw.one_of({1.02, 1.1, 1.3, 2.0, 4.0});
          compare(with_equal ? with_equal_sequences(drawn) : drawn, by, gpu, result);
        }
      }
    }
    return result;
  }

  /// Not where the GPU has no path for the format.
  [[nodiscard]] bool is_priced(const Kernel& kernel, const GpuSpec& gpu) const {
    try {
      return predictor_->predict(kernel, gpu).time.value() > 0;
    } catch (const PredictionError&) {
      return false;
    }
  }

 private:
  void compare(const Kernel& kernel, double by, const GpuSpec& gpu,
               std::map<std::string, Count>& result) const {
    const EstimatorFamily* const family = family_of(kernel, gpu);
    if (family == nullptr || !family->grows_with_problem()) return;
    if (family->first_order_error() > 0) return;  // they have no networks
    Count& count = result[std::string(family->name())];
    if (!is_priced(kernel, gpu)) return;
    for (const Kernel& one : larger(kernel, by)) {
      if (family_of(one, gpu) != family) continue;
      const double steps =
          std::min(family->first_order(one, gpu).time / family->first_order(kernel, gpu).time, 1.0);
      const double ratio =
          predictor_->predict(one, gpu).time / predictor_->predict(kernel, gpu).time;
      ++count.pairs;
      if (ratio >= 0.99 * steps) continue;
      ++count.undercut;
      if (ratio >= count.worst) continue;
      count.worst = ratio;
      count.what =
          fmt::format("{}: {} against {}", gpu.name, kernel_shape(kernel), kernel_shape(one));
    }
  }
};

TEST_F(LargerProblem, CostsNoLessOfManyWithEqualSequences) {
  for (const auto& [family, count] : counts(10, true)) {
    EXPECT_LE(count.undercut, count.pairs / 100) << family << " worst " << count.what;
    EXPECT_GE(count.worst, 0.95) << family << ' ' << count.what;
  }
}

TEST_F(LargerProblem, RoundNumbersOfTokensOfExpertsAreNoCheaperThanTheOneBefore) {
  // Tables hold round numbers alone. Experts of the models that are served most, routed as
  // scenarios route where they do not say.
  struct Layer {
    int experts, topk, hidden, intermediate;
    DType dtype;
  };
  const std::vector<Layer> layers = {{128, 4, 2880, 2880, DType::mxfp4},
                                     {128, 8, 4096, 1536, DType::fp8_block},
                                     {256, 8, 7168, 2048, DType::fp8_block},
                                     {512, 10, 4096, 1024, DType::bf16},
                                     {8, 2, 4096, 14'336, DType::bf16}};
  Count count;
  for (const char* name : {"h100-sxm", "h200-sxm", "b200-sxm"}) {
    const GpuSpec gpu = load_gpu(name, {});
    for (const Layer& layer : layers) {
      for (const Framework framework : {Framework::vllm, Framework::sglang}) {
        FusedMoe moe{.experts = layer.experts,
                     .topk = layer.topk,
                     .hidden = layer.hidden,
                     .intermediate = layer.intermediate,
                     .dtype = layer.dtype,
                     .tp = 4};
        moe.implementation.framework = framework;
        moe.routing = {Routing::Kind::popularity, 30, {}};
        for (const std::int64_t tokens : {16, 32, 64, 128, 256, 512, 1024, 2048, 4096}) {
          FusedMoe before = moe;
          moe.tokens = tokens;
          before.tokens = tokens - 1;
          if (!is_priced(moe, gpu)) continue;
          const double steps = std::min(family_of(moe, gpu)->first_order(moe, gpu).time /
                                            family_of(before, gpu)->first_order(before, gpu).time,
                                        1.0);
          const double ratio =
              predictor_->predict(moe, gpu).time / predictor_->predict(before, gpu).time;
          EXPECT_GE(ratio, 0.95 * steps) << gpu.name << ' ' << kernel_shape(moe);
          ++count.pairs;
          if (ratio < 0.99 * steps) ++count.undercut;
        }
      }
    }
  }
  EXPECT_LE(count.undercut, count.pairs / 100);
}

TEST_F(LargerProblem, SeldomCostsLessOfManyWithUnequalSequences) {
  for (const auto& [family, count] : counts(10, false)) {
    EXPECT_LE(count.undercut, count.pairs / 40) << family << " worst " << count.what;
  }
}

}  // namespace
}  // namespace foretoken::larger_problem_test

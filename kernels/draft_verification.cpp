#include "kernels/draft_verification.hpp"

namespace foretoken {
namespace {

/// Bytes that an engine moves for each logit of a row, and for each of a sequence beside its rows.
struct MovedBytes {
  double row = 0, sequence = 0;
};

/// vllm/v1/sample/rejection_sampler.py: the rows are gathered from the step's logits (2 + 2), as is
/// each sequence's own, and cast to fp32 (2 + 4). Greedy: the largest is found (4). Else they are
/// divided by the temperature (4 + 4), softmax (4 + 4), and the token in place of a rejected one is
/// drawn from each (4) with the sequence's noise (4 + 4); its drafters give no probabilities.
MovedBytes moved_by_vllm(bool is_greedy) {
  constexpr double gather = 2 + 2, cast = 2 + 4, divide = 4 + 4, softmax = 4 + 4, read = 4;
  if (is_greedy) return {gather + cast + read, gather};
  constexpr double noise = 4 + 4;
  return {gather + cast + divide + softmax + read, gather + noise};
}

/// python/sglang/srt/speculative/eagle_info.py, verify(): cast to fp32 by the logits processor (2 +
/// 4). Greedy: the largest is found (4). Else they are divided (4 + 4), softmax (4 + 4),
/// renormalised to the top k (4 + 4), and as many probabilities of the draft set to zero (4); a
/// sequence's last token is drawn from one row of both, in two passes (8 + 8).
MovedBytes moved_by_sglang(bool is_greedy) {
  constexpr double cast = 2 + 4, divide = 4 + 4, softmax = 4 + 4, renormalise = 4 + 4, pass = 4;
  if (is_greedy) return {cast + pass, 0};
  return {cast + divide + softmax + renormalise + pass, 2 * (pass + pass)};
}

}  // namespace

double DraftVerification::bytes() const {
  const bool is_greedy = method == SamplingMethod::greedy;
  const MovedBytes moved =
      framework == Framework::sglang ? moved_by_sglang(is_greedy) : moved_by_vllm(is_greedy);
  return static_cast<double>(vocabulary) *
         (static_cast<double>(rows) * moved.row + static_cast<double>(sequences) * moved.sequence);
}

}  // namespace foretoken

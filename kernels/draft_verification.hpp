// The end of a step that verifies drafted tokens: which of them the target accepts, and what it
// says in place of the first that it does not.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "kernels/implementation.hpp"
#include "kernels/kernel_fields.hpp"

namespace foretoken {

/// How a sequence's next token is found in its logits. top_p: softmax, and a draw among the
/// likeliest. greedy: the largest, which is what temperature 0 asks for.
enum class SamplingMethod { top_p, greedy };
template <>
struct EnumNames<SamplingMethod> {
  static constexpr auto names = std::to_array<std::string_view>({"top_p", "greedy"});
};

/// All that an engine does with `rows` rows of logits that `sequences` sequences have for their
/// drafts: in vLLM a row for each draft, in SGLang also that behind the last one that is accepted.
/// What the rows' own sampling would be is in it.
struct DraftVerification {
  static constexpr std::string_view type_name = "draft_verification";
  std::int64_t rows = 0, sequences = 0, vocabulary = 0;
  SamplingMethod method = SamplingMethod::top_p;
  Framework framework = Framework::vllm;
  static constexpr auto fields() {
    return std::tuple(KernelField{"rows", &DraftVerification::rows},
                      KernelField{"sequences", &DraftVerification::sequences},
                      KernelField{"vocabulary", &DraftVerification::vocabulary},
                      KernelField{"method", &DraftVerification::method},
                      KernelField{"framework", &DraftVerification::framework});
  }
  friend bool operator==(const DraftVerification&, const DraftVerification&) = default;

  /// Read and written of the logits, however often.
  [[nodiscard]] double bytes() const;
};

/// Whether `framework` judges drafts by kernels of their own. Where it does not, it samples every
/// row as without drafts and compares tokens: TensorRT-LLM's one-model drafters
/// (_sample_and_accept_draft_tokens_base), SGLang's greedy verification (verify_tree_greedy).
constexpr bool has_draft_verification(Framework framework, SamplingMethod method) {
  return framework == Framework::vllm ||
         (framework == Framework::sglang && method == SamplingMethod::top_p);
}

}  // namespace foretoken

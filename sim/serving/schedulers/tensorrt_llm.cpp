// TensorRT-LLM's in-flight batching: two decisions a step. Capacity: under guaranteed_no_evict a
// request starts when KV blocks for its whole length are free beside what the others will still
// need, so that nobody is ever paused; under max_utilization when its prompt fits now, and the one
// started last is paused and recomputed when blocks run out. Tokens: everybody who generates has
// one, prompts share the rest of max_num_tokens, whole or, with chunked prefill, in multiples of a
// block: the first one as much as it can, or all of them the same (equal_progress).
// Left out: beams, the look-ahead of two steps, and requests that wait for a prefix which another
// one is about to compute.

#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry tensorrt_llm_scheduler();

enum class CapacityPolicy { guaranteed_no_evict, max_utilization };
template <>
struct EnumNames<CapacityPolicy> {
  static constexpr auto names =
      std::to_array<std::string_view>({"guaranteed_no_evict", "max_utilization"});
};

enum class ChunkingPolicy { first_come_first_served, equal_progress };
template <>
struct EnumNames<ChunkingPolicy> {
  static constexpr auto names =
      std::to_array<std::string_view>({"first_come_first_served", "equal_progress"});
};

namespace {

struct TensorrtLlmConfig {
  CapacityPolicy capacity_policy = CapacityPolicy::guaranteed_no_evict;
  bool chunked_prefill = false;
  ChunkingPolicy chunking_policy = ChunkingPolicy::first_come_first_served;
  std::int64_t output_limit = 0;
  /// Prompts wait beside decodes until they fill this share of the budget …
  double batch_wait_share = 0;
  int batch_wait_steps = 0;  // … or have waited so many steps; 0 = they do not wait
  int rank_wait_steps = 0;   // between those in which prompts of attention ranks begin
};

const Keys<TensorrtLlmConfig>& tensorrt_llm_keys() {
  using S = TensorrtLlmConfig;
  static const Keys<S> keys = {
      {"capacity_policy",
       &S::capacity_policy,
       {},
       "Admission policy: guaranteed_no_evict reserves KV blocks for the longest possible "
       "output and never preempts, max_utilization fills the cache and preempts when it is full."},
      {"chunked_prefill",
       &S::chunked_prefill,
       {},
       "Whether prompts may be split over several steps."},
      {"chunking_policy",
       &S::chunking_policy,
       {},
       "How chunked prompts share a step: the first takes what it can "
       "(first_come_first_served), or all advance alike (equal_progress). Only with "
       "chunked_prefill."},
      output_limit_key<S>(&S::output_limit),
      {"batch_wait_share",
       &S::batch_wait_share,
       {.range = between(0, 1, "is a share of batch_tokens_max: from 0 to 1")},
       "Prompts wait while decodes run until they fill this share of batch_tokens_max. 0: they do "
       "not "
       "wait."},
      {"batch_wait_steps",
       &S::batch_wait_steps,
       {.range = not_negative(), .unit = "steps"},
       "Longest wait of a prompt for batch_wait_share. 0: they do not wait."},
      {"rank_wait_steps",
       &S::rank_wait_steps,
       {.range = not_negative(), .unit = "steps"},
       "Steps between those in which prompts begin on attention ranks, so that fewer steps carry "
       "prompts (attention_dp_config: enable_balance, timeout_iters). They begin earlier if every "
       "rank has one and a slot for it, or a rank has nothing to decode. 0: in any step."},
  };
  return keys;
}

TensorrtLlmConfig read_tensorrt_llm(TableReader& table) {
  TensorrtLlmConfig config;
  tensorrt_llm_keys().read(table, config);
  table.expect("chunking_policy",
               config.chunked_prefill || table.find("chunking_policy") == nullptr,
               "is for chunked prompts; it needs chunked_prefill = true");
  return config;
}

class TensorrtLlm final : public IterationScheduler {
 public:
  TensorrtLlm(const TensorrtLlmConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : IterationScheduler(limits, cache), config_(config) {}

  [[nodiscard]] bool can_serve(const Sequence& sequence) const override {
    return config_.chunked_prefill || sequence.prompt_tokens <= limits_.batch_tokens_max;
  }

  [[nodiscard]] std::int64_t tokens_to_join(const Sequence& sequence) const override {
    return std::max(length(sequence), sequence.known_tokens() + 1);
  }

  [[nodiscard]] RankChoice rank_choice() const override { return RankChoice::fewest_tokens; }
  [[nodiscard]] int rank_wait_steps() const override { return config_.rank_wait_steps; }
  void hold_prompts(bool is_held) override { is_held_ = is_held; }

 private:
  /// A prompt that may take tokens of this step.
  struct Prompt {
    Sequence* sequence;
    std::int64_t missing;
    std::int64_t tokens = 0;
  };

  [[nodiscard]] std::optional<EncoderRule> encoder_rule() const override {
    return EncoderRule::for_request;
  }

  void fill(Batch& batch) override {
    serve_decodes(batch);
    prompts_.clear();
    for (Sequence* sequence : running_) {
      const std::int64_t missing = sequence->missing_tokens();
      if (missing > 1) prompts_.push_back({sequence, missing});
    }
    const std::size_t begun = prompts_.size();
    add_fitting();
    if (is_held_ || waits_for_more(begun)) prompts_.resize(begun);
    share_tokens();
    for (std::size_t i = 0; i < begun; ++i) go_on(*prompts_[i].sequence, prompts_[i].tokens, batch);
    for (std::size_t i = begun; i < prompts_.size() && !has_preempted(); ++i) {
      if (!start(prompts_[i], batch)) return;
    }
  }

  /// Whether prompts that could start are held back for others to join them (PyExecutor's
  /// _waiting_requests). Nothing else to do ends the wait.
  bool waits_for_more(std::size_t begun) {
    std::int64_t tokens = running();  // a token each
    for (const Prompt& prompt : prompts_) tokens += prompt.missing;
    const double wanted = config_.batch_wait_share * static_cast<double>(limits_.batch_tokens_max);
    const bool is_idle = running_.empty();
    const bool waits = prompts_.size() > begun && !is_idle &&
                       waited_steps_ < config_.batch_wait_steps &&
                       static_cast<double>(tokens) < wanted;
    waited_steps_ = waits ? waited_steps_ + 1 : 0;
    return waits;
  }

  /// Lets the first that waits in. What is cached of it may have changed since it got its tokens.
  bool start(const Prompt& prompt, Batch& batch) {
    const KvEntry entry = preempter_.find(*prompt.sequence);
    const std::int64_t missing = prompt.sequence->known_tokens() - entry.tokens;
    const std::int64_t tokens = std::min(missing, prompt.tokens);
    if (tokens == 0 || (tokens < missing && !may_cut(prompt))) return false;
    return admit_front(entry, tokens, 0, batch);
  }

  /// One that was paused meanwhile has lost its turn.
  void go_on(const Sequence& sequence, std::int64_t tokens, Batch& batch) {
    const auto found = std::ranges::find(running_, &sequence);
    if (tokens == 0 || found == running_.end()) return;
    serve(static_cast<std::size_t>(found - running_.begin()), tokens, batch);
  }

  /// Those that wait, in order, as far as capacity lasts.
  void add_fitting() {
    if (waiting_.empty() || budget() == 0 || has_preempted() || !has_slot()) return;
    std::int64_t blocks = cache_.free() - promised();
    std::int64_t slots = limits_.sequences_max - running();
    std::int64_t tokens = 0;
    for (Sequence* sequence : waiting_) {
      if (slots-- == 0 || tokens >= budget()) return;
      const KvEntry entry = preempter_.find(*sequence);
      blocks -= preempter_.blocks_wanted(entry, length(*sequence));
      if (blocks < 0) return;
      prompts_.push_back({sequence, sequence->known_tokens() - entry.tokens});
      tokens += prompts_.back().missing;
    }
  }

  /// Tokens whose blocks have to be there for a request to start.
  [[nodiscard]] std::int64_t length(const Sequence& sequence) const {
    return config_.capacity_policy == CapacityPolicy::guaranteed_no_evict
               ? tokens_at_most(sequence, config_.output_limit, cache_)
               : sequence.tokens_with_room(sequence.known_tokens());
  }

  /// Blocks that those who run do not hold yet but count on.
  [[nodiscard]] std::int64_t promised() const {
    std::int64_t blocks = 0;
    for (const Sequence* sequence : running_) {
      blocks += std::max<std::int64_t>(0, cache_.blocks_for(length(*sequence)) - sequence->blocks);
    }
    return blocks;
  }

  /// Divides what is left of the step among prompts_.
  void share_tokens() {
    const std::int64_t unit =
        std::min<std::int64_t>(cache_.block_tokens(), limits_.batch_tokens_max);
    if (config_.chunking_policy == ChunkingPolicy::equal_progress) return share_equally(unit);
    std::int64_t left = budget();
    for (Prompt& prompt : prompts_) {
      prompt.tokens = std::min(prompt.missing, left);
      if (prompt.tokens < prompt.missing) {
        prompt.tokens = may_cut(prompt) ? prompt.tokens / unit * unit : 0;
        return;
      }
      left -= prompt.tokens;
    }
  }

  void share_equally(std::int64_t unit) {
    std::int64_t left = budget();
    for (bool any = true; any;) {
      any = false;
      for (Prompt& prompt : prompts_) {
        const std::int64_t more = std::min(unit, prompt.missing - prompt.tokens);
        if (more == 0 || more > left) continue;
        prompt.tokens += more;
        left -= more;
        any = true;
      }
    }
  }

  /// A paused request that has outgrown the step is recomputed in pieces in any case.
  [[nodiscard]] bool may_cut(const Prompt& prompt) const {
    return config_.chunked_prefill || prompt.sequence->produced > 0;
  }

  TensorrtLlmConfig config_;
  std::vector<Prompt> prompts_;  // of the step that is being filled
  int waited_steps_ = 0;         // that prompts have been held back
  bool is_held_ = false;         // by the other attention ranks
};

}  // namespace

Registry<SchedulerFactory>::Entry tensorrt_llm_scheduler() {
  return {"tensorrt_llm", "in-flight batching by capacity policy, like TensorRT-LLM",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<TensorrtLlm>(read_tensorrt_llm(options), limits, cache);
          },
          tensorrt_llm_keys().notes()};
}

}  // namespace foretoken

// SGLang's scheduler (0.5): a step is either prefill or decode, and prefill goes first. New
// requests are let in while the tokens that everybody is expected to need fit the KV pool: of its
// output a running request is expected to use a share, new_token_ratio, which falls step by step
// while nothing goes wrong. One prompt at a time may be cut where a step's chunk ends. When decodes
// run out of blocks, those with the least output are retracted, recomputed later, and the ratio is
// set to what the rest has used. The queue is in order of arrival, or the longest cached prefix
// first. Where the scheduler is told to look for new requests only every so many decode steps
// (receive_steps), nobody who came since is in the queue. Left out: requests that ignore the end of
// text have a rule of their own for admission; data parallel ranks do not wait for each other to
// prefill together.

#include <functional>
#include <unordered_set>

#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry sglang_scheduler();

/// Order of the queue: of arrival, or the longest prefix match first.
enum class QueueOrder { fcfs, lpm };
template <>
struct EnumNames<QueueOrder> {
  static constexpr auto names = std::to_array<std::string_view>({"fcfs", "lpm"});
};

namespace {

// Constants of SGLang 0.5 (environ.py, schedule_policy.py); environment variables change them.
constexpr double new_token_ratio_initial = 0.7;  // times conservativeness, at most 1
constexpr double new_token_ratio_floor = 0.14;   // of the initial one
constexpr double new_token_ratio_steps = 600;    // decode steps from initial to floor
constexpr std::int64_t output_expected_max = 4096;
constexpr std::int64_t retract_steps = 20;     // decode steps that retraction makes room for
constexpr std::int64_t shared_tokens = 32;     // a prefix this long is worth waiting for
constexpr std::size_t sorted_queue_max = 128;  // longer ones are served as they came

struct SglangConfig {
  std::int64_t chunk_tokens = 8192;  // prompt tokens of a step before one is cut; 0 or less = never
  bool mixed_chunk = false;          // decodes join a prefill step
  QueueOrder order = QueueOrder::fcfs;
  double conservativeness = 1.0;
  int receive_steps = 1;  // decode steps from one look at new requests to the next
  std::int64_t output_limit = 0;
};

const Keys<SglangConfig>& sglang_keys() {
  using S = SglangConfig;
  static const Keys<S> keys = {
      {"chunk_tokens",
       &S::chunk_tokens,
       {.unit = "tokens", .allowed = "1 or more; 0 or less: never"},
       "Prompt tokens of a step beyond which a prompt is chunked (SGLang's chunked_prefill_size)."},
      {"mixed_chunk",
       &S::mixed_chunk,
       {},
       "Whether decodes join a prefill step, so that long prompts do not hold up running "
       "requests."},
      {"order",
       &S::order,
       {},
       "Order of the queue: fcfs (first come, first served) or lpm (the longest cached prefix "
       "first)."},
      {"conservativeness",
       &S::conservativeness,
       {.range = above(0, "must be above 0")},
       "Factor on the expected remaining output of running requests; above 1 admits fewer requests "
       "and retracts less."},
      {"receive_steps",
       &S::receive_steps,
       {.range = count(), .unit = "steps", .quiet = true},
       "Decode steps after which the scheduler checks for new requests (SGLang's "
       "scheduler_recv_interval); it also checks after every prefill step. Above 1 saves CPU time "
       "and batches prompts, but makes them wait."},
      output_limit_key<S>(&S::output_limit),
  };
  return keys;
}

SglangConfig read_sglang(TableReader& table) {
  SglangConfig config;
  sglang_keys().read(table, config);
  return config;
}

class Sglang final : public IterationScheduler {
 public:
  Sglang(const SglangConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : IterationScheduler(limits, cache),
        config_(config),
        ratio_initial_(std::min(1.0, new_token_ratio_initial * config.conservativeness)),
        ratio_floor_(ratio_initial_ * new_token_ratio_floor),
        ratio_(ratio_initial_) {}

  [[nodiscard]] bool can_serve(const Sequence& sequence) const override {
    return config_.chunk_tokens > 0 || sequence.prompt_tokens <= limits_.batch_tokens_max;
  }

  [[nodiscard]] RankChoice rank_choice() const override { return RankChoice::in_turn; }

 private:
  [[nodiscard]] std::optional<EncoderRule> encoder_rule() const override {
    return EncoderRule::by_request;
  }

  void fill(Batch& batch) override {
    if (running_.empty()) {
      ratio_ = ratio_initial_;
      is_full_ = false;
    }
    receive();
    prefill(batch);
    has_prefilled_ = !batch.empty();
    if (batch.empty() || config_.mixed_chunk) decode(batch);
  }

  /// Looks for new requests if it is time to. With nothing else to do the engine looks at once.
  void receive() {
    const bool is_due = ++unlooked_steps_ >= config_.receive_steps;
    if (!is_due && !has_prefilled_ && !running_.empty()) return;
    unlooked_steps_ = 0;
    received_ = waiting_.size();
  }

  void put_back(Sequence& sequence) override {
    waiting_.push_back(&sequence);
    ++received_;
  }

  void forget(Sequence& sequence) override {
    if (cut_ == &sequence) cut_ = nullptr;
    is_full_ = false;
    received_ = std::min(received_, waiting_.size());
  }

  /// Output that `sequence` may still ask for, as far as the engine looks ahead.
  [[nodiscard]] std::int64_t output_expected(const Sequence& sequence) const {
    const std::int64_t left =
        tokens_at_most(sequence, config_.output_limit, cache_) - sequence.known_tokens();
    return std::clamp<std::int64_t>(left, 0, output_expected_max);
  }

  /// Tokens of KV that nobody is expected to need.
  [[nodiscard]] double tokens_spare() const {
    double spare = static_cast<double>(cache_.free() * cache_.block_tokens());
    for (const Sequence* sequence : running_) {
      if (sequence != cut_) spare -= ratio_ * static_cast<double>(output_expected(*sequence));
    }
    return spare;
  }

  [[nodiscard]] std::int64_t whole_blocks(std::int64_t tokens) const {
    return cache_.blocks_for(tokens) * cache_.block_tokens();
  }

  void prefill(Batch& batch) {
    if (cut_ == nullptr && (received_ == 0 || is_full_)) return;
    // Decodes that join the step have their tokens kept.
    const std::int64_t decodes = config_.mixed_chunk ? decode_tokens() : 0;
    had_decodes_ = std::ranges::any_of(running_, [this](const Sequence* s) { return s != cut_; });
    if (cut_ != nullptr) is_full_ = false;
    const std::int64_t input = budget() - decodes;
    input_left_ = input;
    chunk_left_ =
        config_.chunk_tokens > 0 ? std::min(config_.chunk_tokens - decodes, input) : input;
    spare_ = tokens_spare() - static_cast<double>(decodes);
    if (cut_ != nullptr && !go_on_with_cut(batch)) return;
    if (received_ == 0 || is_full_) return;
    sort_queue();
    while (received_ > 0 && input_left_ > 0 && chunk_left_ > 0 && admit(batch)) {
    }
  }

  /// The next piece of the prompt that was cut.
  bool go_on_with_cut(Batch& batch) {
    Sequence& sequence = *cut_;
    const std::int64_t missing = sequence.missing_tokens();
    const std::int64_t tokens = std::min(missing, chunk_left_);
    if (tokens <= 0 || !cache_.grow(sequence, sequence.computed + tokens)) return false;
    schedule(sequence, reachable(sequence, sequence.computed, tokens), batch);
    if (tokens == missing) cut_ = nullptr;
    spend(tokens, tokens == missing ? output_expected(sequence) : 0);
    return true;
  }

  void spend(std::int64_t tokens, std::int64_t output) {
    const std::int64_t held = whole_blocks(tokens);
    input_left_ -= held;
    chunk_left_ -= held;
    spare_ -= static_cast<double>(held + output);
  }

  /// Lets the first that waits in. Returns whether the next may try.
  bool admit(Batch& batch) {
    if (!has_slot()) return nobody_fits();
    Sequence& next = *waiting_.front();
    const KvEntry entry = preempter_.find(next);
    const std::int64_t missing = next.known_tokens() - entry.tokens;
    const std::int64_t output = output_expected(next);
    const auto wanted = static_cast<double>(missing + output + cache_.block_tokens());
    if (!running_.empty() && wanted >= spare_) return nobody_fits();
    const std::int64_t held = whole_blocks(missing);
    if (held >= input_left_ && !batch.empty()) return false;
    std::int64_t tokens = missing;
    if (missing > chunk_left_) {
      if (config_.chunk_tokens <= 0 && next.produced == 0) return false;
      tokens = chunk_left_ / cache_.block_tokens() * cache_.block_tokens();
      if (tokens == 0 && batch.empty()) tokens = chunk_left_;  // a chunk below one block
      if (tokens == 0) return false;
    }
    if (!admit_front(entry, tokens, 0, batch)) return nobody_fits();
    --received_;
    if (tokens < missing) cut_ = &next;
    spend(tokens, tokens < missing ? 0 : output);
    return tokens == missing;
  }

  /// The next steps need not try, unless this one is the first of a new batch.
  bool nobody_fits() {
    is_full_ = had_decodes_;
    return false;
  }

  void sort_queue() {
    if (config_.order == QueueOrder::fcfs || waiting_.size() > sorted_queue_max) return;
    struct Rank {
      std::int64_t found;
      Sequence* sequence;
    };
    std::vector<Rank> ranks;
    std::unordered_set<std::uint64_t> prompts;  // looked up, never walked
    for (Sequence* sequence : waiting_) {
      std::int64_t found = preempter_.find(*sequence).tokens;
      // Of those that share a prefix which nobody has computed yet, one goes ahead and the others
      // wait for it.
      if (found <= shared_tokens && !is_new_prompt(*sequence, prompts)) found = -1;
      ranks.push_back({found, sequence});
    }
    std::ranges::stable_sort(ranks, std::greater<>(), &Rank::found);
    std::ranges::transform(ranks, waiting_.begin(), &Rank::sequence);
  }

  static bool is_new_prompt(const Sequence& sequence, std::unordered_set<std::uint64_t>& prompts) {
    std::int64_t shared = 0;
    for (const std::uint64_t hash : sequence.prefix_hashes) {
      if (!prompts.contains(hash)) break;
      shared += sequence.prefix_chunk_tokens;
    }
    if (shared >= shared_tokens) return false;
    prompts.insert(sequence.prefix_hashes.begin(), sequence.prefix_hashes.end());
    return true;
  }

  [[nodiscard]] bool decodes(const Sequence& sequence) const {
    return &sequence != cut_ && sequence.missing_tokens() == 1;
  }

  /// Tokens of those that decode, their drafts included.
  [[nodiscard]] std::int64_t decode_tokens() const {
    std::int64_t tokens = 0;
    for (const Sequence* sequence : running_) {
      if (decodes(*sequence)) tokens += sequence->decode_tokens();
    }
    return tokens;
  }

  /// Blocks that a decoding sequence lacks for its next step.
  [[nodiscard]] std::int64_t blocks_lacking(const Sequence& sequence) const {
    const std::int64_t held =
        sequence.tokens_with_room(sequence.computed + sequence.decode_tokens());
    return std::max<std::int64_t>(cache_.blocks_for(held) - sequence.blocks, 0);
  }

  void decode(Batch& batch) {
    std::int64_t blocks = 0;
    for (const Sequence* sequence : running_) {
      if (decodes(*sequence)) blocks += blocks_lacking(*sequence);
    }
    if (blocks > cache_.free()) {
      retract();
    } else {
      ratio_ =
          std::max(ratio_floor_, ratio_ - (ratio_initial_ - ratio_floor_) / new_token_ratio_steps);
    }
    for (Sequence* sequence : running_) {
      if (budget() == 0) return;
      if (!decodes(*sequence)) continue;
      const std::int64_t tokens = std::min(sequence->decode_tokens(), budget());
      if (cache_.grow(*sequence, sequence->computed + tokens)) schedule(*sequence, tokens, batch);
    }
  }

  /// Retracts decoding sequences, at least one, until the rest has room for some steps; the last
  /// one stays, and if even that lacks a block, the prompt that was cut gives way to it.
  void retract() {
    std::vector<Sequence*> left;
    for (Sequence* sequence : running_) {
      if (decodes(*sequence)) left.push_back(sequence);
    }
    std::ranges::stable_sort(left, [](const Sequence* a, const Sequence* b) {
      if (a->produced != b->produced) return a->produced > b->produced;
      return a->prompt_tokens < b->prompt_tokens;
    });
    const auto room = [this] { return cache_.free() * cache_.block_tokens(); };
    bool is_first = true;
    while (left.size() > 1 &&
           (is_first || room() < static_cast<std::int64_t>(left.size()) * retract_steps)) {
      is_first = false;
      give_way(*left.back());
      left.pop_back();
    }
    const bool is_short = !left.empty() && blocks_lacking(*left.front()) > cache_.free();
    if (is_short && cut_ != nullptr && cut_->steps_in_flight == 0) {
      Sequence& sequence = *cut_;
      cut_ = nullptr;
      give_way(sequence);
    }
    set_ratio(left);
    is_full_ = false;
  }

  void give_way(Sequence& sequence) {
    preempt(static_cast<std::size_t>(std::ranges::find(running_, &sequence) - running_.begin()));
  }

  /// The share of their output that those who are left have used, some steps on.
  void set_ratio(const std::vector<Sequence*>& left) {
    double used = 0, asked = 0;
    for (const Sequence* sequence : left) {
      used += static_cast<double>(sequence->produced + retract_steps);
      asked += static_cast<double>(tokens_at_most(*sequence, config_.output_limit, cache_) -
                                   sequence->prompt_tokens);
    }
    ratio_ = asked > 0.0 ? std::min(1.0, used / asked) : ratio_initial_;
  }

  SglangConfig config_;
  double ratio_initial_, ratio_floor_, ratio_;
  Sequence* cut_ = nullptr;     // of running_: its prompt is computed in pieces
  bool is_full_ = false;        // nobody fits until somebody leaves
  std::size_t received_ = 0;    // of waiting_, from the front: whom the scheduler knows of
  int unlooked_steps_ = 0;      // since it last looked
  bool has_prefilled_ = false;  // in the last step
  // Of the step that is being filled:
  std::int64_t input_left_ = 0, chunk_left_ = 0;
  double spare_ = 0;
  bool had_decodes_ = false;
};

}  // namespace

Registry<SchedulerFactory>::Entry sglang_scheduler() {
  return {"sglang", "prefill before decode, admission by expected output, like SGLang's scheduler",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<Sglang>(read_sglang(options), limits, cache);
          },
          sglang_keys().notes()};
}

}  // namespace foretoken

// Fills a batch's rows into a stage's program.
#include "workloads/generator.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/expert_load.hpp"
#include "kernels/latent_prompts.hpp"
#include "workloads/chunked_load.hpp"
#include "workloads/stage_builder.hpp"

namespace foretoken {

WeightFormats ExecutionSettings::formats() const {
  WeightFormats formats(dtype, expert_dtype.value_or(dtype));
  formats.attention = attention_dtype.value_or(dtype);
  formats.shared = shared_expert_dtype.value_or(dtype);
  return formats;
}

void ExecutionSettings::set_formats(const WeightFormats& formats) {
  const auto own = [&](DType part) {
    return part == formats.linear ? std::nullopt : std::optional(part);
  };
  dtype = formats.linear;
  expert_dtype = own(formats.experts);
  attention_dtype = own(formats.attention);
  shared_expert_dtype = own(formats.shared);
}

namespace {

/// Sets the one member of a kernel that counts rows.
struct FillRows {
  const AttentionLoad& load;
  double rows;
  double bytes_per_row;
  std::int64_t chunk;
  std::int64_t low_rank_weights, verifying;

  void operator()(LowRank& kernel) const {
    kernel.tokens = count();
    kernel.adapters = low_rank_weights;
  }
  void operator()(Gemm& kernel) const { kernel.m = count(); }
  void operator()(BatchedGemm& kernel) const { kernel.m = count(); }
  void operator()(Attention& kernel) const {
    kernel.load = chunk > 0 ? chunked_load(load, chunk) : load;
  }
  void operator()(Mla& kernel) const { kernel.load = load; }
  void operator()(KeyIndexer& kernel) const { kernel.load = load; }
  void operator()(SparseAttention& kernel) const { kernel.load = load; }
  void operator()(StateScan& kernel) const { kernel.load = StateLoad::of(load); }
  void operator()(StateConvolution& kernel) const { kernel.load = StateLoad::of(load); }
  void operator()(Sampling& kernel) const { kernel.rows = count(); }
  void operator()(DraftVerification& kernel) const {
    kernel.rows = count();
    kernel.sequences = verifying;
  }
  void operator()(Collective& kernel) const { kernel.bytes = bytes_per_row * rows; }
  template <class Other>
  void operator()(Other& kernel) const {
    kernel.tokens = count();
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(rows); }
};

std::int64_t shares(std::int64_t tokens, int ranks) { return (tokens + ranks - 1) / ranks; }

}  // namespace

ExpertGroups groups_on_ranks(const Transformer& model, const ParallelLayout& layout) {
  return model.moe && !layout.experts_by_load ? model.moe->groups : ExpertGroups{};
}

BatchShape share_of_prompts(const BatchShape& batch, const ParallelLayout& layout) {
  BatchShape own = batch;
  if (layout.prefill_context == 1) return own;
  own.attention = batch.attention.share_of_prompts(layout.prefill_context);
  own.tokens += own.attention.prefill.query_tokens - batch.attention.prefill.query_tokens;
  own.stage_tokens = own.tokens * layout.prefill_context;
  own.stage_tokens_max = own.tokens;
  return own;
}

StageProgram::StageProgram(const Transformer& model, const ParallelLayout& layout,
                           const ExecutionSettings& settings, int stage)
    : tensor_(layout.tensor),
      sharing_prompts_(layout.prefill_context),
      stage_ranks_(layout.stage_ranks()),
      expert_ranks_(layout.expert_ranks()),
      framework_(settings.implementation.framework),
      sampling_(settings.sampling),
      decode_tokens_max_(settings.expert_exchange.decode_tokens_max),
      dense_contexts_max_(Builder::dense_contexts_max(model, layout, settings)),
      groups_(groups_on_ranks(model, layout)) {
  Builder builder(model, layout, settings, stage);
  steps_ = builder.build();
  blocks_ = builder.take_blocks();
  for (const Step& step : steps_) {
    if (const auto* experts = std::get_if<FusedMoe>(&step.call.kernel)) experts_ = *experts;
    forks_decodes_alone_ = forks_decodes_alone_ || step.stream_of_decodes;
  }
}

StageProgram::When StageProgram::when_of(const BatchShape& batch) const {
  const std::int64_t most = batch.stage_tokens_max > 0 ? batch.stage_tokens_max : batch.tokens;
  const bool are_many = decode_tokens_max_ > 0 && shares(most, tensor_) > decode_tokens_max_;
  return batch.has_prompts() || are_many ? When::as_prompts : When::as_decodes;
}

bool StageProgram::attends_densely(const BatchShape& batch) const {
  const AttentionLoad& load = batch.attention;
  return load.prefill.sequences > 0 && load.decode.sequences == 0 &&
         load.prefill.context_tokens_max <= dense_contexts_max_ &&
         load.prefill.context_tokens <= sglang_workspace_tokens;
}

double StageProgram::copies_of_a_token() const {
  return sets_visited(experts_.experts, experts_.topk, groups_, experts_.ep) * expert_ranks_ /
         experts_.ep;
}

/// Every token goes once to each set of experts that it visits, and to all ranks of the set. The
/// rank with the most tokens sends most; the one with the most popular experts receives most (where
/// experts are apart, counted for one of those that send to it).
double StageProgram::exchange_rows(std::int64_t tokens, std::int64_t tokens_max) const {
  const double copies = copies_of_a_token();
  const double sent = static_cast<double>(shares(tokens_max, tensor_)) * copies;
  FusedMoe experts = experts_;
  experts.tokens = tokens;
  const double even = static_cast<double>(tokens) * experts.topk / experts.ep;
  const double busiest = busiest_rank_load(experts).assignments;
  const double received = static_cast<double>(tokens) * copies / stage_ranks_ * busiest / even;
  return std::max(sent, received);
}

/// SGLang judges a sequence's own row with those of its drafts. Parts of a batch have them by
/// shares, each rounded for itself.
std::int64_t StageProgram::judged_rows(const BatchShape& batch) const {
  if (!has_draft_verification(framework_, sampling_)) return 0;
  const std::int64_t own = framework_ == Framework::sglang ? batch.verifying : 0;
  return std::min(batch.draft_rows + own, batch.logit_rows);
}

/// How many weights a low-rank product reads: one an adapter, and of routed experts one for each
/// that an adapter's tokens wake. Tokens are spread evenly over the adapters.
std::int64_t StageProgram::low_rank_weights(const Step& step, const BatchShape& batch) const {
  if (step.rows != Rows::adapted_experts || batch.adapters == 0) return batch.adapters;
  const std::int64_t each = batch.adapted_tokens / batch.adapters;
  const std::int64_t with_more = batch.adapted_tokens % batch.adapters;
  const auto woken = [&](std::int64_t tokens) {
    if (tokens == 0) return 0.0;
    FusedMoe experts = experts_;
    experts.tokens = tokens;
    return busiest_rank_load(experts).active;
  };
  const double all = static_cast<double>(with_more) * woken(each + 1) +
                     static_cast<double>(batch.adapters - with_more) * woken(each);
  return std::max<std::int64_t>(1, std::llround(all));
}

double StageProgram::rows_of(const Step& step, const BatchShape& batch) const {
  const std::int64_t all = batch.stage_tokens > 0 ? batch.stage_tokens : batch.tokens;
  const std::int64_t most = batch.stage_tokens_max > 0 ? batch.stage_tokens_max : batch.tokens;
  switch (step.rows) {
    case Rows::tokens:
      break;
    case Rows::logits:
      return static_cast<double>(batch.logit_rows);
    case Rows::drawn:
      return static_cast<double>(batch.logit_rows - judged_rows(batch));
    case Rows::judged:
      return static_cast<double>(judged_rows(batch));
    case Rows::decodes:
      return static_cast<double>(batch.attention.decode.query_tokens);
    case Rows::prompts:
      return static_cast<double>(batch.attention.prefill.query_tokens);
    case Rows::expanded:
      return static_cast<double>(expanded_latents(batch.attention.prefill, framework_));
    case Rows::contexts:
      return static_cast<double>(batch.attention.prefill.context_tokens);
    case Rows::gathered:  // what gets no token
      return static_cast<double>(std::max<std::int64_t>(0, batch.tokens - batch.logit_rows) *
                                 sharing_prompts_);
    case Rows::adapted:
      return static_cast<double>(batch.adapted_tokens);
    case Rows::adapted_experts:
      return static_cast<double>(batch.adapted_tokens * experts_.topk);
    case Rows::share:
      return static_cast<double>(shares(batch.tokens, tensor_));
    case Rows::stage:
      return static_cast<double>(all);
    case Rows::padded_stage:
      return static_cast<double>(shares(most, tensor_) * stage_ranks_);
    case Rows::most:
      return static_cast<double>(most);
    case Rows::exchange:
      return exchange_rows(all, most);
    case Rows::exchanged:
      return exchange_rows(all, most) / copies_of_a_token();
  }
  return static_cast<double>(batch.tokens);
}

bool StageProgram::forks(const Step& step, const BatchShape& batch) {
  return batch.tokens <= step.stream_tokens_max && !(step.stream_of_decodes && batch.has_prompts());
}

KernelSequence StageProgram::kernels(const BatchShape& batch, StagePart part) const {
  KernelSequence sequence;
  list_kernels(batch, part, sequence);
  return sequence;
}

void StageProgram::list_kernels(const BatchShape& batch, StagePart part,
                                KernelSequence& sequence) const {
  FORETOKEN_CHECK(batch.tokens > 0, "a batch of {} tokens", batch.tokens);
  sequence.clear();
  sequence.reserve(steps_.size());
  const When when = when_of(batch);
  const Attends attends = attends_densely(batch) ? Attends::densely : Attends::sparsely;
  for (const Step& step : steps_) {
    if (step.when != When::always && step.when != when) continue;
    if (step.attends != Attends::always && step.attends != attends) continue;
    if (part != StagePart::all && part_of(step.rows) != part) continue;
    const double rows = rows_of(step, batch);
    if (rows <= step.fused_rows) continue;
    KernelCall& call = sequence.emplace_back(step.call);
    if (forks(step, batch)) call.stream = step.stream;
    const std::int64_t weights = low_rank_weights(step, batch);
    if (call.part == LoadPart::all && call.context_parts == 1) {
      std::visit(
          FillRows{batch.attention, rows, step.bytes_per_row, step.chunk, weights, batch.verifying},
          call.kernel);
    } else {
      const AttentionLoad load = call.load_of(batch.attention);
      std::visit(FillRows{load, rows, step.bytes_per_row, step.chunk, weights, batch.verifying},
                 call.kernel);
    }
  }
}

Bytes StageProgram::adapter_bytes() const {
  Bytes bytes;
  for (const Step& step : steps_) {
    if (const auto* product = std::get_if<LowRank>(&step.call.kernel))
      bytes += Bytes(step.call.calls * step.held * product->weights_of_one());
  }
  return bytes;
}

KernelSequence generate(const Transformer& model, const ParallelLayout& layout,
                        const ExecutionSettings& settings, const BatchShape& batch, int stage) {
  return StageProgram(model, layout, settings, stage).kernels(share_of_prompts(batch, layout));
}

}  // namespace foretoken

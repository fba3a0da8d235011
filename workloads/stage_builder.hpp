// Expands a stage's operators into the steps of its StageProgram. Internal to this room.
#pragma once

#include "models/operator_graph.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

class StageProgram::Builder {
 public:
  Builder(const Transformer& model, const ParallelLayout& layout, const ExecutionSettings& settings,
          int stage);

  /// 0: prompts attend sparsely, or the model has no index.
  static std::int64_t dense_contexts_max(const Transformer& model, const ParallelLayout& layout,
                                         const ExecutionSettings& settings);

  /// All steps in launch order.
  std::vector<Step> build();
  /// The blocks of the steps that build() returned.
  std::vector<SegmentBlock> take_blocks() { return std::move(blocks_); }

 private:
  /// Layers of the stage that launch the same kernels.
  struct LayerGroup {
    int last = 0;  // one of them; not layer 0 if there is another
    int layers = 0;
    bool has_first_of_model = false;
  };
  [[nodiscard]] std::vector<LayerGroup> layer_groups() const;

  void add_receive();
  void add_send();
  void add_group(const LayerGroup& group);
  void add_graph(const OperatorGraph& graph);

  /// The kernels of one operator, `calls` times each.
  void add_operator(const Operator& op, int calls);
  std::int64_t add_heads_exchange(const Operator& op, int calls);
  void add_norm(const Operator& op, int calls);
  [[nodiscard]] bool follows_sum() const;
  [[nodiscard]] bool attention_rotates_and_writes() const;
  [[nodiscard]] Rows rows_of_latents() const;
  void add_rope(const Operator& op, int calls);
  void add_kv_write(const Operator& op, int calls);
  void add_attention(const Operator& op, int calls);
  [[nodiscard]] Mla latent_attention(int query_heads) const;
  [[nodiscard]] Gemm latent_expansion(const AttentionShape& own) const;
  void add_latent_expansion(const AttentionShape& own, int calls);
  void add_head_projection(const Operator& op, int calls);
  // stage_builder_hybrid.cpp
  /// Attention to chosen or compressed keys.
  void add_sparse_attention(const Operator& op, int calls);
  /// What short prompts have in its place.
  void add_dense_prompts(const Operator& op, int calls);
  [[nodiscard]] bool has_dense_prompts() const;
  /// Whether these have it, or what stands in its place.
  [[nodiscard]] Attends attends_of(const Operator& op) const;
  [[nodiscard]] bool fuses_block_index() const;
  [[nodiscard]] std::int64_t fused_index_width(const AttentionShape& attention) const;
  void add_key_indexer(const Operator& op, int calls);
  /// A convolution, a recurrence or the norm of its heads.
  void add_state(const Operator& op, int calls);
  void add_hyper_connection(const Operator& op, int calls);
  void add_pass(std::string_view role, int heads, int width, int calls);
  void add_compressor_state(const Operator& op, int calls);
  void add_padding(int heads, int width, int calls);
  void add_latent_inputs(const AttentionShape& own, std::int64_t picked, int calls);
  void add_output_rotation(const AttentionShape& own, int calls);
  // stage_builder_context.cpp
  [[nodiscard]] Rows context_rows() const;
  /// Keys and values of prompts, to all groups that share these.
  void add_prompt_gather(const AttentionShape& own, int calls);
  void add_query_gather(const AttentionShape& own, int calls);
  void add_context_merge(const AttentionShape& own, int calls);
  /// Of the ranks that share contexts.
  void add_context_collective(std::string_view role, CollectiveOp op, double bytes_per_row,
                              int calls);
  /// By the kernels that settings choose for the format.
  [[nodiscard]] Gemm product(std::int64_t n, std::int64_t k, DType format) const;
  void add_linear(const Operator& op, int calls);
  /// What adapters add to a product of that shape.
  void add_adapters(const Operator& op, const LinearShape& shape, int calls);
  void add_expert_adapters(const Operator& op, int sharing, int calls);
  void add_experts(const Operator& op, int calls);
  /// The experts, and what brings the tokens of all attention ranks to them and back.
  void add_exchanged_experts(const Operator& op, int calls);
  /// Experts on GPUs of their own, and the sends there and back.
  void add_experts_apart(const Operator& op, int calls);
  void add_expert_send(std::string_view role, double bytes_per_row, int calls, Stream stream);
  void add_dispatch(ExchangeMethod method, When when, const Operator& op, int calls);
  void add_combine(ExchangeMethod method, When when, const Operator& op, int calls);
  [[nodiscard]] ExpertTraffic traffic_of(ExchangeMethod method) const;
  /// A collective over all ranks of the stage.
  void add_stage_collective(std::string_view role, CollectiveOp op, double bytes_per_row, int calls,
                            Rows rows);
  /// A collective of the tensor-parallel group; nothing when there is only one rank.
  void add_collective(std::string_view role, CollectiveOp op, double bytes_per_row, int calls,
                      Rows rows = Rows::tokens);
  void add(std::string_view role, Kernel kernel, int calls, Rows rows = Rows::tokens);
  void add(std::string_view role, Kernel kernel, int calls, Rows rows, Stream stream);
  /// Where steps of few tokens run what `op` became (stage_builder_streams.cpp).
  void put_on_stream(const Operator& op, Step& step) const;
  [[nodiscard]] StreamLane expert_stream(const Operator& op) const;
  [[nodiscard]] StreamLane attention_stream(std::string_view role) const;
  [[nodiscard]] Stream stream_of(const Kernel& kernel) const;
  void start_block(int repeats);
  /// The number of the block's current segment, a new one if `stream` is another than before.
  int segment_of(Stream stream);

  /// Bytes of a token, `width` values, on its way to the experts.
  [[nodiscard]] double dispatched_bytes(std::int64_t width) const;
  /// Whether every rank runs `op` whole on its own share of the tokens (router, shared expert).
  [[nodiscard]] bool is_whole(const Operator& op) const { return op.of_moe && shares_attention(); }
  /// Whether it does so on all ranks' tokens instead.
  [[nodiscard]] bool is_behind_gather(const Operator& op) const;
  [[nodiscard]] Rows rows_of(const Operator& op) const;
  [[nodiscard]] bool shares_attention() const { return layout_.exchanges_tokens(); }
  [[nodiscard]] bool has_routed_rows() const;

  /// One rank's heads of an operator's layer; values as wide as keys, on average where they are
  /// not.
  [[nodiscard]] AttentionShape heads_of(const Operator& op) const;
  [[nodiscard]] static int new_heads(const AttentionShape& own);
  /// Bytes of `elements` activations.
  [[nodiscard]] double activation_bytes(std::int64_t elements) const;

  const Transformer& model_;
  const ParallelLayout& layout_;
  const ExecutionSettings& settings_;
  const int stage_;
  const DType activation_;
  std::vector<Step> steps_;
  std::vector<SegmentBlock> blocks_;
  int forks_before_ = -1;   // of other layers, and that of experts
  bool has_index_ = false;  // the layers at hand
};

}  // namespace foretoken

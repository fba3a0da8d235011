// Expands a stage's operators into the steps of its StageProgram. Internal to this room.
#pragma once

#include "workloads/generator.hpp"

namespace foretoken {

class StageProgram::Builder {
 public:
  Builder(const Transformer& model, const ParallelLayout& layout, const ExecutionSettings& settings,
          int stage);

  /// All steps in launch order.
  std::vector<Step> build();

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
  void add_norm(const Operator& op, int calls);
  void add_linear(const Operator& op, int calls);
  void add_experts(const Operator& op, int calls);
  /// A collective of the tensor-parallel group; nothing when there is only one rank.
  void add_collective(std::string_view role, CollectiveOp op, double bytes_per_row, int calls,
                      Rows rows = Rows::tokens);
  void add(std::string_view role, Kernel kernel, int calls, Rows rows = Rows::tokens);

  /// Bytes of `elements` activations.
  [[nodiscard]] double activation_bytes(std::int64_t elements) const;

  const Transformer& model_;
  const ParallelLayout& layout_;
  const ExecutionSettings& settings_;
  const int stage_;
  const DType activation_;
  const int query_heads_;
  const int kv_heads_;
  std::vector<Step> steps_;
};

}  // namespace foretoken

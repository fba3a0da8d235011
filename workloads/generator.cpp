// Fills a batch's rows into a stage's program.
#include "workloads/generator.hpp"

#include "workloads/stage_builder.hpp"

namespace foretoken {
namespace {

/// Sets the one member of a kernel that counts rows.
struct FillRows {
  const BatchShape& batch;
  std::int64_t rows;
  double bytes_per_row;

  void operator()(Gemm& kernel) const { kernel.m = rows; }
  void operator()(Attention& kernel) const { kernel.load = batch.attention; }
  void operator()(Mla& kernel) const { kernel.load = batch.attention; }
  void operator()(Sampling& kernel) const { kernel.rows = rows; }
  void operator()(Collective& kernel) const {
    kernel.bytes = bytes_per_row * static_cast<double>(rows);
  }
  template <class Other>
  void operator()(Other& kernel) const {
    kernel.tokens = rows;
  }
};

}  // namespace

StageProgram::StageProgram(const Transformer& model, const ParallelLayout& layout,
                           const ExecutionSettings& settings, int stage)
    : steps_(Builder(model, layout, settings, stage).build()) {}

KernelSequence StageProgram::kernels(const BatchShape& batch) const {
  FORETOKEN_CHECK(batch.tokens > 0, "a batch of {} tokens", batch.tokens);
  KernelSequence sequence;
  sequence.reserve(steps_.size());
  for (const Step& step : steps_) {
    const std::int64_t rows = step.rows == Rows::tokens ? batch.tokens : batch.logit_rows;
    if (rows == 0) continue;
    KernelCall& call = sequence.emplace_back(step.call);
    std::visit(FillRows{batch, rows, step.bytes_per_row}, call.kernel);
  }
  return sequence;
}

KernelSequence generate(const Transformer& model, const ParallelLayout& layout,
                        const ExecutionSettings& settings, const BatchShape& batch, int stage) {
  return StageProgram(model, layout, settings, stage).kernels(batch);
}

}  // namespace foretoken

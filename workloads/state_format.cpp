#include "workloads/state_format.hpp"

namespace foretoken {

DType usual_state_dtype(Framework framework) {
  return framework == Framework::sglang ? DType::fp32 : DType::bf16;
}

void settle_state_dtype(Transformer& model, Framework framework) {
  for (LayerKind& kind : model.kinds) {
    if (kind.state && kind.state->follows_engine() && !kind.state->state_dtype)
      kind.state->state_dtype = usual_state_dtype(framework);
  }
}

void set_state_dtype(Transformer& model, DType dtype) {
  for (LayerKind& kind : model.kinds) {
    if (kind.state && kind.state->follows_engine()) kind.state->state_dtype = dtype;
  }
}

std::optional<DType> state_dtype_of(const Transformer& model) {
  for (const LayerKind& kind : model.kinds) {
    if (kind.state && kind.state->follows_engine()) return kind.state->kept_in();
  }
  return std::nullopt;
}

}  // namespace foretoken

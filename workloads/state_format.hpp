// The number format in which engines keep recurrent states: what a sequence's state takes of
// memory, and what each of its decode steps reads and writes.
#pragma once

#include <optional>

#include "kernels/implementation.hpp"
#include "models/transformer.hpp"

namespace foretoken {

/// What `framework` takes where a model's configuration names none: vLLM the activations' 16 bits
/// (mamba_utils.py, MambaStateDtypeCalculator, "auto"), SGLang fp32 (docs/basic_usage/qwen3.md,
/// --mamba-ssm-dtype). TensorRT-LLM's is that of AIConfigurator's tables of its delta nets, bf16;
/// its own source was not looked up.
DType usual_state_dtype(Framework framework);

/// Sets it in all layers whose configuration names none.
void settle_state_dtype(Transformer& model, Framework framework);
/// Sets it in all layers, whatever their configuration names.
void set_state_dtype(Transformer& model, DType dtype);
/// Of the first layer whose state the engine may choose; nullopt: there is none.
std::optional<DType> state_dtype_of(const Transformer& model);

}  // namespace foretoken

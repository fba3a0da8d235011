// What tests of the generator share: a batch, and how to find kernels in a sequence.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>

#include "workloads/generator.hpp"

namespace foretoken {

inline Transformer model(const std::string& name) { return load_model(name, {}); }

/// 100 new tokens, of which 4 sequences get one.
inline BatchShape batch_of_100() {
  return {.tokens = 100,
          .logit_rows = 4,
          .attention = AttentionLoad::exact({{97, 97}, {1, 500}, {1, 600}, {1, 700}})};
}

inline std::vector<std::string> roles(const KernelSequence& sequence) {
  std::vector<std::string> found;
  for (const KernelCall& call : sequence) {
    found.push_back(fmt::format("{} x{}", call.role, call.calls));
  }
  return found;
}

inline const KernelCall& find(const KernelSequence& sequence, std::string_view role) {
  const auto found = std::ranges::find(sequence, role, &KernelCall::role);
  FORETOKEN_CHECK(found != sequence.end(), "no kernel '{}'", role);
  return *found;
}

/// The kernel as a step runs it: with what the kernel before has left in the L2.
template <class T>
Kernel handed_on(T kernel) {
  kernel.is_cold = false;
  return kernel;
}

/// The kernel's shape: whose implementation it is, that weights and caches are cold in serving and
/// activations are not, is checked here.
template <class T>
T kernel(const KernelSequence& sequence, std::string_view role) {
  T shape = std::get<T>(find(sequence, role).kernel);
  if constexpr (requires { shape.implementation; }) {
    EXPECT_EQ(shape.implementation, ExecutionSettings{}.implementation);
    EXPECT_TRUE(shape.implementation.is_cold);
    shape.implementation = {};
  }
  if constexpr (requires { shape.is_cold; }) {
    EXPECT_FALSE(shape.is_cold);
    shape.is_cold = true;
  }
  return shape;
}

inline bool contains(const KernelSequence& sequence, std::string_view role) {
  return std::ranges::find(sequence, role, &KernelCall::role) != sequence.end();
}

inline Collective tensor_collective(CollectiveOp op, int ranks, double bytes) {
  return {.op = op, .group = CommGroup::tensor_parallel, .ranks = ranks, .bytes = bytes};
}

/// Two groups of two ranks with 100 and 60 tokens; 8 experts on 4 ranks, two each.
inline BatchShape batch_beside_60() {
  BatchShape batch = batch_of_100();
  batch.stage_tokens = 160;
  batch.stage_tokens_max = 100;
  return batch;
}

inline Transformer small_moe() {
  Transformer toy = model("mixtral-8x7b");
  toy.moe->shared_intermediate = 1024;
  return toy;
}

inline BatchShape three_decodes() {
  BatchShape batch;
  batch.tokens = batch.logit_rows = 3;
  batch.attention = AttentionLoad::exact({{1, 64}, {1, 64}, {1, 64}});
  batch.stage_tokens = 5;
  batch.stage_tokens_max = 3;
  return batch;
}

}  // namespace foretoken

// Speculative decoding as a scenario asks for it: [engine.speculative]. Who drafts, how many
// tokens, and how many of them the target accepts; the last is an input, since it depends on the
// traffic and not on the machine.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/parallel_layout.hpp"
#include "models/transformer.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// draft_model: a smaller model of the same vocabulary. eagle: an EAGLE or EAGLE-3 head. mtp: the
/// multi-token prediction module that was released with the model. ngram: the host looks the last
/// tokens up in what came before.
enum class DraftMethod { draft_model, eagle, mtp, ngram };
template <>
struct EnumNames<DraftMethod> {
  static constexpr auto names =
      std::to_array<std::string_view>({"draft_model", "eagle", "mtp", "ngram"});
};

struct SpeculativeSettings {
  DraftMethod method = DraftMethod::draft_model;
  int drafts = 0;               // positions proposed for each sequence after each step; at least 1
  int topk = 1;                 // candidates a position that are drafted on; 1: a chain
  int tree_tokens = 0;          // of a tree, drafted tokens that are verified
  double topk_exponent = 0.43;  // how fast further candidates of a position get worse
  std::vector<double> acceptance;  // by position, given that those before it were accepted
  std::string text;                // that they were measured on; "" = they are the user's own
  /// {sequences, drafts}, ascending: how many are drafted in steps of so many sequences and more;
  /// empty = always `drafts`, which none exceeds.
  std::vector<std::pair<int, int>> drafts_by_batch;
  std::string model_name;  // as asked for; "" = what the method says
  /// What drafts (n-gram: nothing); for a head or module without what it shares with the model.
  std::optional<Transformer> draft;
  std::optional<WeightFormats> formats;  // of the draft; nullopt = as published, heads in 16 bit
  int tensor_parallel = 0;               // of the draft: 1 or the model's
  Seconds host_time;                     // added to every step beside the engine's own

  [[nodiscard]] bool is_tree() const { return topk > 1; }
  /// Drafted tokens of a sequence that a step verifies, at most.
  [[nodiscard]] int verified() const { return is_tree() ? tree_tokens : drafts; }

  /// How the draft runs where the model runs as `target`.
  [[nodiscard]] ExecutionSettings execution(const ExecutionSettings& target) const;
  /// How the draft is cut where the model is cut as `target`: one stage, the last one's GPUs.
  [[nodiscard]] ParallelLayout layout(const ParallelLayout& target) const;
  /// The draft as its passes after the first run it: EAGLE-3 then sees its own hidden states.
  [[nodiscard]] Transformer following_draft() const;
};

/// An EAGLE-3 head for `model`, which must be dense and without latent attention: one layer of its
/// widths and an LM head over 32,000 tokens, as SafeAILab and SpecForge train them for Llama.
Transformer eagle3_head(const Transformer& model);

}  // namespace foretoken

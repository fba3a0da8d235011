// Who turns a kernel into another by a strategy: moves in a template's space, or a program of the
// user's (a language model, say).
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/tune/policy.hpp"

namespace foretoken::tune {

class ChatModel;
struct ChatUsage;

struct Rewrite {
  std::optional<Candidate> candidate;
  Evaluation failure;  // why there is none
};

class Rewriter {
 public:
  virtual ~Rewriter() = default;
  /// Whether there is anything left to try on this kernel, by strategy.
  virtual std::array<bool, strategy_count> can(const PoolEntry& parent) = 0;
  /// Called only where can() holds.
  virtual Rewrite rewrite(const PoolEntry& parent, Strategy strategy) = 0;
};

/// Moves one parameter of the strategy to a neighbouring value, into a state that nobody saw in
/// this run. `order` "listed" takes the first such move (parameters in the header's order, larger
/// values first), "seeded" any. `known` says which states there are.
struct TemplateOptions {
  bool is_seeded = true;
  std::uint64_t seed = 1;
  std::function<bool(const State&)> known;
};
std::unique_ptr<Rewriter> make_template_rewriter(const Problem& problem, TemplateOptions options);

/// Runs `command` (by sh -c) for each rewriting. It gets one JSON object on its input: problem,
/// summary, strategy, source, launches, parameters, profile, seconds by shape. Its output is the
/// new source, or a JSON object with "source" and, if they change, "launches" as in a problem's
/// header.
std::unique_ptr<Rewriter> make_command_rewriter(const Problem& problem, std::string command,
                                                std::chrono::milliseconds limit);

struct ChatRewriting {
  std::string model;
  double temperature = 0.7;
};
/// Asks a language model; its tokens are added to `usage`. Both outlive the rewriter.
std::unique_ptr<Rewriter> make_chat_rewriter(const Problem& problem, ChatModel& chat,
                                             ChatRewriting options, ChatUsage& usage);

/// The states one move of `strategy` away, in the order "listed" takes them.
std::vector<State> moves(const Problem& problem, const State& state, Strategy strategy);

}  // namespace foretoken::tune

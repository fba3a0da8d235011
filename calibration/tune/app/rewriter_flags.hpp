// Who rewrites kernels, on the command line of `run`: the template, a program, or a language model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "calibration/tune/chat/chat.hpp"
#include "calibration/tune/evaluator.hpp"
#include "calibration/tune/rewriter.hpp"

namespace foretoken::tune {

struct RewriterFlags {
  std::string rewriter = "template";
  std::string command;
  double seconds = 300;
  std::string endpoint, model, key_variable = "OPENAI_API_KEY", chat;
  double temperature = 0.7, retry_seconds = 1;
  std::vector<double> token_prices = {0, 0};

  void add_to(CLI::App& command);
};

/// Makes a rewriter for each kernel; conversations go on from one to the next.
class ChosenRewriter {
 public:
  /// Throws ConfigError for an unknown name, or flags that do not go together.
  explicit ChosenRewriter(const RewriterFlags& flags);
  std::unique_ptr<Rewriter> make(const Problem& problem, const Evaluator& evaluator,
                                 std::uint64_t seed);
  /// Requests, tokens and what they cost; empty without a language model.
  [[nodiscard]] std::string usage_text() const;
  [[nodiscard]] Value usage_value() const;

 private:
  const RewriterFlags* flags_;
  std::unique_ptr<ChatModel> chat_;
  ChatUsage usage_;
};

}  // namespace foretoken::tune

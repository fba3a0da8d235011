#include "calibration/tune/app/rewriter_flags.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "sim/base/error.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken::tune {
namespace {

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

std::unique_ptr<ChatModel> chat_of(const RewriterFlags& flags) {
  if (flags.model.empty() || (flags.endpoint.empty() && flags.chat.empty())) {
    throw ConfigError({"--rewriter", 0, 0},
                      "chat needs --model NAME, and --endpoint URL or the conversations of an "
                      "earlier run (--chat FILE)");
  }
  std::unique_ptr<ChatModel> chat;
  if (!flags.endpoint.empty()) {
    const char* key = std::getenv(flags.key_variable.c_str());
    chat = make_chat_endpoint({.url = flags.endpoint,
                               .key = key != nullptr ? key : "",
                               .limit = milliseconds_of(flags.seconds),
                               .first_wait = milliseconds_of(flags.retry_seconds)});
  }
  return flags.chat.empty() ? std::move(chat) : make_recorded_chat(std::move(chat), flags.chat);
}

}  // namespace

void RewriterFlags::add_to(CLI::App& command) {
  command.add_option("--rewriter", rewriter, "template, command or chat (a language model)")
      ->capture_default_str();
  command.add_option("--command", this->command,
                     "Program that rewrites kernels: JSON on stdin, source on stdout");
  command.add_option("--command-seconds,--reply-seconds", seconds, "Time limit per answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--endpoint", endpoint,
                     "OpenAI-compatible URL, such as http://127.0.0.1:8000/v1");
  command.add_option("--model", model, "Model name at the endpoint");
  command
      .add_option("--key-variable", key_variable,
                  "Environment variable with the endpoint's API key")
      ->capture_default_str();
  command.add_option("--temperature", temperature, "Sampling temperature of the model")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option(
      "--chat", chat,
      "File that keeps conversations; without --endpoint, a run is repeated from it");
  command
      .add_option("--retry-seconds", retry_seconds, "Wait before the second attempt; then doubles")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--token-prices", token_prices, "US$ per million input and output tokens")
      ->expected(2)
      ->delimiter(',');
}

ChosenRewriter::ChosenRewriter(const RewriterFlags& flags) : flags_(&flags) {
  if (flags.rewriter != "template" && flags.rewriter != "command" && flags.rewriter != "chat") {
    throw ConfigError({"--rewriter", 0, 0}, unknown_name_message("rewriter", flags.rewriter,
                                                                 {"template", "command", "chat"}));
  }
  if ((flags.rewriter == "command") == flags.command.empty()) {
    throw ConfigError({"--rewriter", 0, 0}, "--rewriter command and --command go together");
  }
  const bool is_chat = flags.rewriter == "chat";
  if (!is_chat && !(flags.endpoint + flags.model + flags.chat).empty()) {
    throw ConfigError({"--rewriter", 0, 0},
                      "--endpoint, --model and --chat belong to --rewriter chat");
  }
  if (is_chat) chat_ = chat_of(flags);
}

std::unique_ptr<Rewriter> ChosenRewriter::make(const Problem& problem, const Evaluator& evaluator,
                                               std::uint64_t seed) {
  if (chat_) {
    return make_chat_rewriter(problem, *chat_, {flags_->model, flags_->temperature}, usage_);
  }
  if (flags_->rewriter == "command") {
    return make_command_rewriter(problem, flags_->command, milliseconds_of(flags_->seconds));
  }
  return make_template_rewriter(
      problem, {true, seed, [&](const State& state) { return evaluator.knows(problem, state); }});
}

std::string ChosenRewriter::usage_text() const {
  if (!chat_) return "";
  const double cost = usage_.cost(flags_->token_prices[0], flags_->token_prices[1]);
  return fmt::format(
      "{} replies, {} of them from an earlier run, {} failed ({} attempts); {} input tokens, {} "
      "output tokens{}\n",
      usage_.requests - usage_.failures, usage_.from_file, usage_.failures, usage_.attempts,
      usage_.prompt_tokens, usage_.reply_tokens, cost > 0 ? fmt::format(": ${:.4f}", cost) : "");
}

Value ChosenRewriter::usage_value() const {
  return ValueObject{{"requests", usage_.requests},
                     {"failures", usage_.failures},
                     {"from_file", usage_.from_file},
                     {"attempts", usage_.attempts},
                     {"prompt_tokens", usage_.prompt_tokens},
                     {"reply_tokens", usage_.reply_tokens},
                     {"cost_usd", usage_.cost(flags_->token_prices[0], flags_->token_prices[1])}};
}

}  // namespace foretoken::tune

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "calibration/tune/chat/chat.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken::tune {
namespace {

/// Equal requests have equal names.
std::string name_of_request(const ChatRequest& request) {
  Fingerprint print;
  print.add(request.model).add(fmt::format("{}", request.temperature));
  for (const ChatMessage& message : request.messages) print.add(message.role).add(message.text);
  return fmt::format("{:016x}", print.value());
}

class RecordedChat final : public ChatModel {
 public:
  RecordedChat(std::unique_ptr<ChatModel> inner, const std::string& path)
      : inner_(std::move(inner)), path_(path) {
    const std::uintmax_t whole = load();
    if (!inner_) return;
    std::error_code none;
    if (std::filesystem::file_size(path, none) > whole && !none) {
      std::filesystem::resize_file(path, whole);  // what a killed run left of a line
    }
    file_.open(path, std::ios::app | std::ios::binary);
    if (!file_) throw ConfigError({path, 0, 0}, "cannot be written");
  }

  ChatReply ask(const ChatRequest& request) override {
    const std::string name = name_of_request(request);
    const std::vector<ChatReply>& known = replies_[name];
    const std::size_t number = asked_[name]++;
    if (number < known.size()) return known[number];
    if (!inner_) {
      ChatReply reply;
      reply.failure =
          fmt::format("{} holds no reply to this request, and there is no --endpoint", path_);
      return reply;
    }
    ChatReply reply = inner_->ask(request);
    if (reply.failure.empty()) keep(name, request, reply);
    return reply;
  }

 private:
  /// Bytes of the whole lines.
  std::uintmax_t load() {
    std::ifstream file(path_, std::ios::binary);
    if (!file && !inner_) throw ConfigError({path_, 0, 0}, "cannot be read");
    std::uintmax_t whole = 0;
    std::string line;
    for (int number = 1; std::getline(file, line) && !file.eof(); ++number) {
      if (!line.empty()) read(line, {path_, number, 0});
      whole += line.size() + 1;
    }
    return whole;
  }

  void read(const std::string& line, const SourcePosition& position) {
    const Value root = parse_json(line, position);
    Diagnostics diagnostics;
    TableReader table(root, diagnostics, "exchange");
    std::string name;
    ChatReply reply;
    table.require("request", name);
    table.require("reply", reply.text);
    table.read("prompt_tokens", reply.prompt_tokens);
    table.read("reply_tokens", reply.reply_tokens);
    diagnostics.throw_if_any();
    replies_[name].push_back(std::move(reply));
  }

  void keep(const std::string& name, const ChatRequest& request, const ChatReply& reply) {
    ValueArray messages;
    for (const ChatMessage& message : request.messages) {
      messages.emplace_back(ValueObject{{"role", message.role}, {"content", message.text}});
    }
    file_ << to_json(ValueObject{{"request", name},
                                 {"model", request.model},
                                 {"temperature", request.temperature},
                                 {"messages", std::move(messages)},
                                 {"reply", reply.text},
                                 {"prompt_tokens", reply.prompt_tokens},
                                 {"reply_tokens", reply.reply_tokens}},
                     -1)
          << '\n';
    if (!file_.flush()) throw ConfigError({path_, 0, 0}, "cannot be written: is the disk full?");
  }

  std::unique_ptr<ChatModel> inner_;
  std::string path_;
  std::map<std::string, std::vector<ChatReply>> replies_;
  std::map<std::string, std::size_t> asked_;
  std::ofstream file_;
};

}  // namespace

std::unique_ptr<ChatModel> make_recorded_chat(std::unique_ptr<ChatModel> inner,
                                              const std::string& file) {
  return std::make_unique<RecordedChat>(std::move(inner), file);
}

void ChatUsage::add(const ChatReply& reply) {
  ++requests;
  failures += reply.failure.empty() ? 0 : 1;
  from_file += reply.attempts == 0 && reply.failure.empty() ? 1 : 0;
  attempts += reply.attempts;
  prompt_tokens += reply.prompt_tokens;
  reply_tokens += reply.reply_tokens;
}

double ChatUsage::cost(double prompt_price, double reply_price) const {
  return (static_cast<double>(prompt_tokens) * prompt_price +
          static_cast<double>(reply_tokens) * reply_price) /
         1e6;
}

}  // namespace foretoken::tune

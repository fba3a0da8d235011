// Conversations as text, one JSON object each, all turns of them: OpenAI's messages, as vLLM's
// benchmarks/multi_turn reads them (`messages`), WildChat and LMSYS-Chat-1M (`conversation`) and
// ShareGPT (`conversations`, which the format "sharegpt" reads the first two turns of, as load
// tools do). An answer of the assistant is a call that reads all before it; what nobody answered is
// left out. A `timestamp` of the conversation is when it began; where messages have some, the time
// from an answer to the next message passes again, otherwise none does. Tokens are an estimate; an
// image among a message's parts must tell its size (image_header.hpp), and later turns have it too.
#include <algorithm>
#include <array>
#include <utility>

#include "workloads/requests/prompt_text.hpp"
#include "workloads/requests/trace_date.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

/// Of `value` the first member that one of `keys` names; nullptr if none does.
const Value* any_member(const Value& value, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const Value* found = value.find(key)) return found;
  return nullptr;
}

constexpr auto message_lists =
    std::to_array<std::string_view>({"messages", "conversation", "conversations"});
constexpr auto message_roles = std::to_array<std::string_view>({"role", "from"});
constexpr auto message_texts = std::to_array<std::string_view>({"content", "value"});
constexpr auto message_dates = std::to_array<std::string_view>({"timestamp", "tstamp"});

/// Seconds since 1970, or a date.
std::optional<std::int64_t> date_of(const Value& value) {
  const Value* date = any_member(value, message_dates);
  if (date == nullptr) return std::nullopt;
  if (date->is_string()) return date_ns(std::get<std::string>(date->data), "timestamp");
  return time_ns_of(*date, "timestamp", 1.0);
}

struct Message {
  bool is_answer = false;
  std::int64_t tokens = 0;
  std::optional<std::int64_t> date;
  std::vector<TraceItem> images = {};
};

/// A string, or OpenAI's parts: text, and images whose size is told.
RenderedChat content_of(const Value& text) {
  try {
    return rendered_content(text);
  } catch (const BadPrompt& bad) {
    throw BadLine(bad.what());
  }
}

Message message_of(const Value& value) {
  const Value* role = value.is_object() ? any_member(value, message_roles) : nullptr;
  const Value* text = value.is_object() ? any_member(value, message_texts) : nullptr;
  const bool is_whole = role != nullptr && role->is_string() && text != nullptr;
  if (!is_whole || !(text->is_string() || text->is_array()))
    throw BadLine("a message must be {\"role\": ..., \"content\": \"text\"}");
  const std::string& name = std::get<std::string>(role->data);
  const RenderedChat content = content_of(*text);
  return {name == "assistant" || name == "gpt" || name == "bot", text_tokens(content.text),
          date_of(value), images_among_text(content)};
}

class Conversations final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return (head.has("\"messages\"") || head.has("\"conversation\"")) && head.has("\"role\"") &&
           head.has("\"content\"");
  }
  bool has_arrivals() const override { return has_times_.value_or(false); }

 protected:
  JsonRecords records() const override { return {.path = {"*"}}; }
  void parse(const Value& record, TraceSink& sink) override {
    const Value* found = any_member(record, message_lists);
    if (found == nullptr) throw BadLine("lacks \"messages\"");
    const auto* messages = std::get_if<ValueArray>(&found->data);
    if (messages == nullptr) throw BadLine("messages must be a list");
    read_turns(*messages);
    if (turns_.empty()) throw FailedRequest();
    const std::optional<std::int64_t> date = date_of(record);
    if (date.has_value() != has_times_.value_or(date.has_value())) {
      throw BadLine(date ? "has a timestamp, which earlier conversations lack"
                         : "lacks \"timestamp\", which earlier conversations have");
    }
    has_times_ = date.has_value();
    turns_.front().arrival_ns = date.value_or(0);
    for (const TraceRow& turn : turns_) sink.add(turn, record.position.line);
    ++conversations_;
  }

 private:
  void read_turns(const ValueArray& messages) {
    turns_.clear();
    std::int64_t said = 0, waited = 0;
    std::vector<TraceItem> shown;
    std::optional<std::int64_t> answered;  // when
    for (const Value& value : messages) {
      const Message message = message_of(value);
      if (!message.is_answer || said == 0) {
        if (said == 0 && message.date && answered)
          waited = std::max<std::int64_t>(*message.date - *answered, 0);
        for (TraceItem image : message.images) {
          image.first_token += said;
          shown.push_back(image);
        }
        said += message.tokens;
        continue;
      }
      TraceRow turn{0,
                    token_count_of(Value(said), "the prompt"),
                    token_count_of(Value(message.tokens), "the answer"),
                    {}};
      turn.place = TracePlace{.trajectory = fmt::to_string(conversations_),
                              .after_previous_ns = waited,
                              .has_time = turns_.empty(),
                              .adds_to_text = true};
      turn.media = std::exchange(shown, {});
      turns_.push_back(std::move(turn));
      answered = message.date;
      said = waited = 0;
    }
  }

  std::vector<TraceRow> turns_;  // of a conversation
  std::size_t conversations_ = 0;
  std::optional<bool> has_times_;
};

}  // namespace

std::unique_ptr<TraceFormat> conversations_trace() { return std::make_unique<Conversations>(); }

}  // namespace foretoken

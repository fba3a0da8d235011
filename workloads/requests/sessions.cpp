#include "workloads/requests/sessions.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <utility>

#include "sim/base/fingerprint.hpp"
#include "workloads/requests/traffic.hpp"
#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

constexpr int system_prompts_max = 1'000'000;

Keys<Sessions> session_keys(const LengthRegistry& lengths) {
  using S = Sessions;
  return {
      length_key<S>({.name = "turns",
                     .fallback = "required",
                     .meaning = "Requests of a session: questions that a user asks in one "
                                "conversation."},
                    &S::turns, {LengthOf::prompt, nullptr}, lengths),
      {"think_time",
       &S::think_time,
       {.fallback = "required"},
       "Time from an answer to the user's next question."},
      {"context_tokens_max",
       &S::context_tokens_max,
       {.range = at_least(0, "must be at least 1 (or 0: no limit)"), .unit = "tokens"},
       "A session ends before its context would grow beyond this. 0: no limit."},
  };
}

Keys<Sessions> system_prompt_keys(const LengthRegistry& lengths) {
  using S = Sessions;
  return {
      {"count",
       &S::system_prompts,
       {.range = between(1, system_prompts_max, "must be from 1 to 1000000"), .fallback = "1"},
       "Different system prompts in use; each session or request begins with one of them."},
      length_key<S>(
          {.name = "tokens", .fallback = "required", .meaning = "Length of a system prompt."},
          &S::system_prompt_tokens, {LengthOf::prompt, nullptr}, lengths),
      {"exponent",
       &S::popularity_exponent,
       {.range = between(0, 10, "must be from 0 (all equally popular) to 10")},
       "How unequally popular they are: the k-th is chosen in proportion to k^-exponent. 0: all "
       "alike."},
  };
}

void read_session_table(TableReader& workload, const LengthRegistry& lengths, Sessions& sessions) {
  const Value* options = workload.find_table("sessions");
  if (options == nullptr) return;
  TableReader table(*options, workload.diagnostics(), "workload.sessions");
  session_keys(lengths).read(table, sessions);
  if (table.find("think_time") == nullptr) {
    table.fail("think_time", "is missing; write a time, for example \"20 s\", or \"0 s\"");
  }
  table.finish();
}

void read_system_prompt_table(TableReader& workload, const LengthRegistry& lengths,
                              Sessions& sessions) {
  const Value* options = workload.find_table("system_prompts");
  if (options == nullptr) return;
  TableReader table(*options, workload.diagnostics(), "workload.system_prompts");
  sessions.system_prompts = 1;
  system_prompt_keys(lengths).read(table, sessions);
  table.finish();
}

/// Lengths of the system prompts, and which of them a session begins with.
class SystemPrompts {
 public:
  SystemPrompts(const Sessions& sessions, const RandomStreams& random)
      : random_(random.stream("system_prompt")) {
    RandomStream lengths = random.stream("system_prompts");
    double sum = 0.0;
    for (int i = 0; i < sessions.system_prompts; ++i) {
      tokens_.push_back(
          sessions.system_prompt_tokens->sample(lengths, static_cast<std::size_t>(i)));
      sum += std::pow(i + 1, -sessions.popularity_exponent);
      popularity_.push_back(sum);
    }
  }

  [[nodiscard]] std::int64_t tokens(std::size_t prompt) const {
    return tokens_.empty() ? 0 : tokens_[prompt];
  }
  std::size_t choose() {
    if (tokens_.empty()) return 0;
    const double draw = uniform(random_) * popularity_.back();
    const auto chosen = std::ranges::upper_bound(popularity_, draw);
    return std::min(static_cast<std::size_t>(chosen - popularity_.begin()), tokens_.size() - 1);
  }

 private:
  RandomStream random_;
  std::vector<std::int64_t> tokens_;
  std::vector<double> popularity_;  // cumulative
};

/// What is said in a session, and how far it has come.
struct Conversation {
  struct Turn {
    Request request;     // without id, arrival, context and hashes
    Seconds think_time;  // before the next
  };
  std::uint64_t number = 0;
  std::size_t system_prompt = 0;
  std::int64_t context_tokens = 0;
  std::vector<Turn> turns;
  std::size_t next = 0;
};

class SessionSource final : public RequestSource {
 public:
  SessionSource(const Traffic& traffic, const RandomStreams& random)
      : traffic_(traffic),
        times_(transformed(traffic.arrivals->start(random.stream("arrivals")), traffic.transform)),
        system_prompts_(*traffic.sessions, random),
        turns_random_(random.stream("turns")),
        think_random_(random.stream("think_time")),
        prompt_random_(random.stream("prompt_tokens")),
        output_random_(random.stream("output_tokens")),
        priority_random_(random.stream("priorities")),
        patience_(traffic.patience, random) {}

  std::optional<Request> next() override {
    const TrafficLimits& limits = traffic_.limits;
    if (limits.requests && planned_ >= *limits.requests) return std::nullopt;
    const std::optional<Arrival> arrival = times_->next();
    if (!arrival || (limits.duration && arrival->time >= *limits.duration)) return std::nullopt;
    Conversation conversation = plan();
    const std::uint64_t number = conversation.number;
    return issue(open_.emplace(number, std::move(conversation)).first->second, arrival->time);
  }

  std::optional<Request> next_follow_up() override {
    if (follow_ups_.empty()) return std::nullopt;
    Request request = std::move(follow_ups_.front());
    follow_ups_.pop_front();
    return request;
  }

  void on_finished(RequestId id, Seconds now) override {
    Conversation& conversation = open_.at(take_session(id));
    if (conversation.next == conversation.turns.size()) return end(conversation.number, now);
    const Seconds thought = conversation.turns[conversation.next - 1].think_time;
    follow_ups_.push_back(issue(conversation, now + thought));
  }

  void on_given_up(RequestId id, Seconds now) override { end(take_session(id), now); }

  std::optional<std::int64_t> expected() const override { return traffic_.limits.requests; }

 private:
  /// The session of a request that is over.
  std::uint64_t take_session(RequestId id) {
    const auto found = session_of_.find(id.value);
    FORETOKEN_CHECK(found != session_of_.end(), "request {} is of no session", id.value);
    const std::uint64_t session = found->second;
    session_of_.erase(found);
    return session;
  }

  void end(std::uint64_t session, Seconds now) {
    open_.erase(session);
    times_->on_finished(now);
  }

  /// Everything that is drawn is drawn here. Turns beyond the limit on requests are never said.
  Conversation plan() {
    const Sessions& sessions = *traffic_.sessions;
    Conversation conversation;
    conversation.number = sessions_++;
    const auto number = static_cast<std::size_t>(conversation.number);
    conversation.system_prompt = system_prompts_.choose();
    conversation.context_tokens = system_prompts_.tokens(conversation.system_prompt);
    std::int64_t context = conversation.context_tokens;
    const std::int64_t turns = sessions.turns ? sessions.turns->sample(turns_random_, number) : 1;
    bool is_over = false;
    for (std::int64_t i = 0; i < turns; ++i) {
      Conversation::Turn turn;
      turn.request.prompt_tokens = traffic_.prompt_tokens->sample(prompt_random_, number);
      turn.request.output_tokens = traffic_.output_tokens->sample(output_random_, number);
      turn.request.priority = traffic_.priorities.sample(priority_random_);
      patience_.give(turn.request);
      turn.think_time = sessions.think_time.sample(think_random_);
      context += turn.request.prompt_tokens + turn.request.output_tokens;
      const bool is_too_long =
          sessions.context_tokens_max > 0 && context > sessions.context_tokens_max && i > 0;
      const bool is_limit = traffic_.limits.requests && planned_ >= *traffic_.limits.requests;
      is_over = is_over || is_too_long || is_limit;
      if (is_over) continue;
      ++planned_;
      conversation.turns.push_back(std::move(turn));
    }
    return conversation;
  }

  Request issue(Conversation& conversation, Seconds arrival) {
    Request request = conversation.turns[conversation.next++].request;
    request.id = RequestId{issued_++};
    request.arrival = arrival;
    request.session = conversation.number;
    request.prompt_tokens += conversation.context_tokens;
    conversation.context_tokens = request.prompt_tokens + request.output_tokens;
    request.prefix_block_tokens = traffic_.prefix_block_tokens;
    request.prefix_hashes = hashes(conversation);
    request.prefix_hashes_cover_output = true;
    session_of_.emplace(request.id.value, conversation.number);
    return request;
  }

  /// Of the whole blocks of the context, the answer to come included. Blocks within a system prompt
  /// are everybody's who has it; behind it a session's text is its own and only ever grows, so its
  /// number and the place say what a block and everything before it holds.
  [[nodiscard]] std::vector<std::uint64_t> hashes(const Conversation& conversation) const {
    const std::int64_t block = traffic_.prefix_block_tokens;
    const std::int64_t shared = system_prompts_.tokens(conversation.system_prompt) / block;
    std::vector<std::uint64_t> all;
    for (std::int64_t i = 0; i < conversation.context_tokens / block; ++i) {
      Fingerprint hash;
      if (i < shared) {
        hash.add("system prompt").add(std::uint64_t{conversation.system_prompt});
      } else {
        hash.add("session").add(conversation.number);
      }
      all.push_back(hash.add(static_cast<std::uint64_t>(i)).value());
    }
    return all;
  }

  Traffic traffic_;
  std::unique_ptr<ArrivalTimes> times_;  // of sessions
  SystemPrompts system_prompts_;
  RandomStream turns_random_, think_random_, prompt_random_, output_random_, priority_random_;
  PatienceDraws patience_;
  std::uint64_t sessions_ = 0;
  std::int64_t planned_ = 0;  // requests
  std::uint32_t issued_ = 0;
  std::deque<Request> follow_ups_;
  // Looked up, never walked.
  std::unordered_map<std::uint64_t, Conversation> open_;
  std::unordered_map<std::uint32_t, std::uint64_t> session_of_;  // by request
};

}  // namespace

std::optional<Sessions> read_sessions(TableReader& workload, const LengthRegistry& lengths) {
  Sessions sessions;
  read_session_table(workload, lengths, sessions);
  read_system_prompt_table(workload, lengths, sessions);
  const bool is_there =
      workload.find("sessions") != nullptr || workload.find("system_prompts") != nullptr;
  return is_there ? std::optional(sessions) : std::nullopt;
}

void describe(const Sessions& sessions, Value& workload) {
  const LengthRegistry lengths = length_registry();
  if (sessions.turns) workload.set("sessions", session_keys(lengths).table(sessions));
  if (sessions.system_prompts > 0)
    workload.set("system_prompts", system_prompt_keys(lengths).table(sessions));
}

std::vector<KeyTable> session_key_tables() {
  const LengthRegistry lengths = length_registry();
  return {{"workload.sessions", "",
           "Conversations. Arrivals are then those of sessions, and prompt_tokens is what a user "
           "writes in one turn.",
           session_keys(lengths).notes()},
          {"workload.system_prompts", "", "Beginnings that prompts share.",
           system_prompt_keys(lengths).notes()}};
}

std::unique_ptr<RequestSource> start_sessions(const Traffic& traffic, const RandomStreams& random) {
  return std::make_unique<SessionSource>(traffic, random);
}

}  // namespace foretoken

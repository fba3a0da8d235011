#include "workloads/requests/sessions.hpp"

#include "workloads/requests/traffic_keys.hpp"
#include "workloads/requests/trajectory.hpp"

namespace foretoken {
namespace {

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

class SessionPlanner final : public TrajectoryPlanner {
 public:
  SessionPlanner(const Traffic& traffic, const RandomStreams& random)
      : sessions_(traffic.sessions.value_or(Sessions())),
        system_prompts_(traffic.system_prompts, random),
        turns_random_(random.stream("turns")),
        think_random_(random.stream("think_time")),
        draws_(traffic, random),
        media_(traffic.media, random) {}

  /// Everything is drawn for turns beyond the longest context too, so that it shifts no other.
  Trajectory plan(std::uint64_t number) override {
    Trajectory session;
    draws_.begin_trajectory();
    Text text;
    text.system_prompt = system_prompts_.choose();
    text.system_tokens = text.tokens = system_prompts_.tokens(text.system_prompt);
    session.texts.push_back(text);
    std::int64_t context = text.tokens;
    const std::int64_t turns = sessions_.turns ? sessions_.turns->sample(turns_random_, number) : 1;
    Seconds thought;
    bool is_over = false;
    for (int i = 0; i < turns; ++i) {
      Call turn{.request = draws_.next(number), .waits_for = {}};
      media_.give(turn.request);
      if (i > 0) turn.waits_for = {{i - 1, thought}};
      thought = sessions_.think_time.sample(think_random_);
      context += turn.request.prompt_tokens + turn.request.output_tokens;
      const std::int64_t most = sessions_.context_tokens_max;
      is_over = is_over || (most > 0 && context > most && i > 0);
      if (!is_over) session.calls.push_back(std::move(turn));
    }
    return session;
  }

 private:
  Sessions sessions_;
  SystemPromptDraws system_prompts_;
  RandomStream turns_random_, think_random_;
  RequestDraws draws_;
  MediaDraws media_;
};

}  // namespace

std::optional<Sessions> read_sessions(TableReader& workload, const LengthRegistry& lengths) {
  const Value* options = workload.find_table("sessions");
  if (options == nullptr) return std::nullopt;
  TableReader table(*options, workload.diagnostics(), "workload.sessions");
  Sessions sessions;
  session_keys(lengths).read(table, sessions);
  if (table.find("think_time") == nullptr) {
    table.fail("think_time", "is missing; write a time, for example \"20 s\", or \"0 s\"");
  }
  table.finish();
  return sessions;
}

void describe(const Sessions& sessions, Value& workload) {
  const LengthRegistry lengths = length_registry();
  workload.set("sessions", session_keys(lengths).table(sessions));
}

KeyTable session_key_table() {
  const LengthRegistry lengths = length_registry();
  return {"workload.sessions", "",
          "Conversations. Arrivals are then those of sessions, and prompt_tokens is what a user "
          "writes in one turn.",
          session_keys(lengths).notes()};
}

std::unique_ptr<RequestSource> start_sessions(const Traffic& traffic, const RandomStreams& random) {
  return play(traffic, random, std::make_unique<SessionPlanner>(traffic, random));
}

}  // namespace foretoken

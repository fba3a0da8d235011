#include "workloads/requests/agents.hpp"

#include <algorithm>
#include <utility>

#include "workloads/requests/traffic_keys.hpp"
#include "workloads/requests/trajectory.hpp"

namespace foretoken {
namespace {

Keys<Agents> agent_keys(const LengthRegistry& lengths) {
  using S = Agents;
  const LengthInputs inputs{LengthOf::prompt, nullptr};
  return {
      length_key<S>({.name = "calls",
                     .fallback = "required",
                     .meaning = "Calls of the model that the main agent makes for a task."},
                    &S::calls, inputs, lengths),
      {"tool_time",
       &S::tool_time,
       {.fallback = "required"},
       "Time from an answer to the next call: how long the tools that it asked for run."},
      length_key<S>({.name = "tool_tokens",
                     .fallback = "required",
                     .meaning = "Tokens of a tool's result, which join the context."},
                    &S::tool_tokens, inputs, lengths),
      length_key<S>({.name = "thinking_tokens",
                     .fallback = "not set (none)",
                     .meaning = "Tokens that a call generates before its answer and that no later "
                                "call reads."},
                    &S::thinking_tokens, inputs, lengths),
      {"context_tokens_max",
       &S::context_tokens_max,
       {.range = at_least(0, "must be at least 1 (or 0: no limit)"), .unit = "tokens"},
       "A context that would grow beyond this is truncated: its beginning, except the system "
       "prompt, is dropped, and the rest no longer matches the cache. 0: no limit."},
      {"context_tokens_kept",
       &S::context_tokens_kept,
       {.range = at_least(0), .unit = "tokens"},
       "What truncation keeps of a context, after the system prompt."},
  };
}

Keys<Subagents> subagent_keys(const LengthRegistry& lengths) {
  using S = Subagents;
  const LengthInputs inputs{LengthOf::prompt, nullptr};
  return {
      {"share",
       &S::share,
       {.range = between(0, 1, "must be from 0 to 1"), .fallback = "required"},
       "Share of the main agent's calls after which it starts subagents instead of a tool."},
      length_key<S>({.name = "count",
                     .fallback = "required",
                     .meaning = "Subagents that are started at once and work in parallel."},
                    &S::count, inputs, lengths),
      length_key<S>({.name = "calls",
                     .fallback = "required",
                     .meaning = "Calls of the model that a subagent makes."},
                    &S::calls, inputs, lengths),
      length_key<S>({.name = "prompt_tokens",
                     .fallback = "required",
                     .meaning = "Task of a subagent, after its own system prompt."},
                    &S::prompt_tokens, inputs, lengths),
  };
}

class AgentPlanner final : public TrajectoryPlanner {
 public:
  AgentPlanner(const Traffic& traffic, const RandomStreams& random)
      : agents_(*traffic.agents),
        system_prompts_(traffic.system_prompts, random),
        draws_(traffic, random),
        media_(traffic.media, random),
        calls_random_(random.stream("agent_calls")),
        time_random_(random.stream("tool_time")),
        tool_random_(random.stream("tool_tokens")),
        thinking_random_(random.stream("thinking_tokens")),
        subagents_random_(random.stream("subagents")) {}

  Trajectory plan(std::uint64_t number) override {
    number_ = number;
    plan_ = {};
    draws_.begin_trajectory();
    Writer agent = start();
    const std::int64_t calls = agents_.calls->sample(calls_random_, number);
    Call first = call();
    add(agent, std::move(first));
    for (std::int64_t i = 1; i < calls; ++i) {
      Call next = call();
      const bool fans_out =
          agents_.subagents && uniform(subagents_random_) < agents_.subagents->share;
      if (fans_out) {
        next.request.prompt_tokens = send_subagents(agent.last, next.waits_for);
      } else {
        use_tool(agent, next);
      }
      if (!add(agent, std::move(next))) break;
    }
    return std::move(plan_);
  }

 private:
  /// Who adds to a text, and what they added last.
  struct Writer {
    int text = 0;
    int last = -1;
    std::int64_t tokens = 0;  // of the text, once its calls were made
    std::int64_t answer = 0;  // tokens of the last call
  };

  Writer start() {
    Text text;
    text.system_prompt = system_prompts_.choose();
    text.system_tokens = text.tokens = system_prompts_.tokens(text.system_prompt);
    plan_.texts.push_back(text);
    return {.text = static_cast<int>(plan_.texts.size()) - 1, .tokens = text.tokens};
  }

  Call call() {
    Call call;
    call.request = draws_.next(number_);
    if (agents_.thinking_tokens) {
      call.forgotten_tokens = agents_.thinking_tokens->sample(thinking_random_, number_);
      call.request.output_tokens += call.forgotten_tokens;
    }
    return call;
  }

  void use_tool(const Writer& agent, Call& next) {
    next.waits_for = {{agent.last, agents_.tool_time.sample(time_random_)}};
    next.request.prompt_tokens = agents_.tool_tokens->sample(tool_random_, number_);
  }

  /// Whether the call has room: one that has none even in a context that was cut is never made.
  bool add(Writer& writer, Call call) {
    media_.give(call.request);
    const std::int64_t added = call.request.prompt_tokens + call.request.output_tokens;
    const std::int64_t most = agents_.context_tokens_max;
    if (most > 0 && writer.last >= 0 && writer.tokens + added > most) {
      Text cut = plan_.texts[static_cast<std::size_t>(writer.text)];
      cut.tokens = std::min(writer.tokens, cut.system_tokens + agents_.context_tokens_kept);
      if (cut.tokens + added > most) return false;
      plan_.texts.push_back(cut);
      writer.text = static_cast<int>(plan_.texts.size()) - 1;
      writer.tokens = cut.tokens;
    }
    writer.tokens += added - call.forgotten_tokens;
    writer.answer = call.request.output_tokens - call.forgotten_tokens;
    call.text = writer.text;
    plan_.calls.push_back(std::move(call));
    writer.last = static_cast<int>(plan_.calls.size()) - 1;
    return true;
  }

  /// Started by call `parent`; returns what they answer, and in `ends` the calls that do.
  std::int64_t send_subagents(int parent, std::vector<CallWait>& ends) {
    const Subagents& settings = *agents_.subagents;
    std::int64_t answers = 0;
    const std::int64_t count = settings.count->sample(subagents_random_, number_);
    for (std::int64_t i = 0; i < count; ++i) {
      Writer subagent = start();
      const std::int64_t calls = settings.calls->sample(subagents_random_, number_);
      for (std::int64_t k = 0; k < calls; ++k) {
        Call next = call();
        if (k == 0) {
          next.waits_for = {{parent}};
          next.request.prompt_tokens = settings.prompt_tokens->sample(subagents_random_, number_);
        } else {
          use_tool(subagent, next);
        }
        if (!add(subagent, std::move(next))) break;
      }
      ends.push_back({subagent.last});
      answers += subagent.answer;
    }
    return answers;
  }

  Agents agents_;
  SystemPromptDraws system_prompts_;
  RequestDraws draws_;
  MediaDraws media_;
  RandomStream calls_random_, time_random_, tool_random_, thinking_random_, subagents_random_;
  std::uint64_t number_ = 0;
  Trajectory plan_;  // that is being written
};

}  // namespace

std::optional<Agents> read_agents(TableReader& workload, const LengthRegistry& lengths) {
  const Value* options = workload.find_table("agents");
  if (options == nullptr) return std::nullopt;
  TableReader table(*options, workload.diagnostics(), "workload.agents");
  Agents agents;
  agent_keys(lengths).read(table, agents);
  if (table.find("tool_time") == nullptr) {
    table.fail("tool_time", "is missing; write a time, for example \"2 s\", or \"0 s\"");
  }
  table.expect(
      "context_tokens_kept",
      agents.context_tokens_max == 0 || agents.context_tokens_kept < agents.context_tokens_max,
      "must be below context_tokens_max");
  if (const Value* inner = table.find_table("subagents"); inner != nullptr) {
    TableReader subtable(*inner, workload.diagnostics(), "workload.agents.subagents");
    agents.subagents.emplace();
    subagent_keys(lengths).read(subtable, *agents.subagents);
    if (subtable.find("share") == nullptr) {
      subtable.fail("share", "is missing; write a number from 0 to 1");
    }
    subtable.finish();
  }
  table.finish();
  return agents;
}

void describe(const Agents& agents, Value& workload) {
  const LengthRegistry lengths = length_registry();
  Value table = agent_keys(lengths).table(agents);
  if (agents.subagents) table.set("subagents", subagent_keys(lengths).table(*agents.subagents));
  workload.set("agents", std::move(table));
}

std::vector<KeyTable> agent_key_tables() {
  const LengthRegistry lengths = length_registry();
  std::vector<KeyNote> notes = agent_keys(lengths).notes();
  notes.push_back({"subagents", "table", "", "not set", "",
                   "Agents that the main agent starts: [workload.agents.subagents]."});
  return {{"workload.agents", "",
           "Agents that call the model and tools in turn. Arrivals are then those of tasks; "
           "prompt_tokens is the length of a task, output_tokens that of a call's answer.",
           notes},
          {"workload.agents.subagents", "",
           "Agents that work in parallel on parts of a task; the main agent waits for all of "
           "them.",
           subagent_keys(lengths).notes()}};
}

std::unique_ptr<RequestSource> start_agents(const Traffic& traffic, const RandomStreams& random) {
  return play(traffic, random, std::make_unique<AgentPlanner>(traffic, random));
}

}  // namespace foretoken

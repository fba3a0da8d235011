// Sessions of coding agents as Weka's kv-cache-tester records them (github.com/callanjfox/kv-cache-
// tester, docs/trace_replay_tester.md) and InferenceX's AgentX replays them (AIPerf's manual,
// "Replaying Agentic Coding Sessions with Weka Traces"): a JSON object a session, whose `requests`
// are calls in order, with subagents nested between them. A call has the time since the session
// began and that of its answer (s), lengths, and an identity for each block of its prompt.
//
// A call waits for the last call of its agent whose answer it could know, a subagent's first for
// that of its parent, and a call behind a subagent for the end of it. So what was sent while
// another answer was under way is sent side by side again. Between them passes `think_time`, or
// else what passed between the recorded answer and the call; of a call without `api_time`, since
// that call. Models are not told apart. Nothing says when sessions began.
#include <algorithm>
#include <numeric>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

/// Clocks of records are told to a microsecond.
constexpr std::int64_t rounding_ns = 1000;

/// One session while it is read.
class WekaSession {
 public:
  explicit WekaSession(std::string name) : name_(std::move(name)) {}

  void read(const Value& record) {
    const std::string scope = name_of(record, "hash_id_scope");
    is_global_ = scope == "global";
    scope_ = is_global_ ? "" : name_;
    block_tokens_ = record.find("block_size") == nullptr ? 64 : token_count(record, "block_size");
    const ValueArray& requests = list(record, "requests");
    is_relative_ = nested_times_are_relative(requests);
    read_agent(requests, 0, -1);
  }

  [[nodiscard]] std::vector<TraceRow>& rows() { return rows_; }
  [[nodiscard]] int block_tokens() const { return block_tokens_; }
  [[nodiscard]] bool is_global() const { return is_global_; }

 private:
  struct Timed {
    std::int64_t begin, end;  // the same where nobody says when the answer came
  };
  /// What an agent has called and started so far, and who of it nobody waits for yet.
  struct Agent {
    std::vector<int> calls;
    std::vector<int> open;  // last calls of its subagents
  };

  static bool is_subagent(const Value& entry) { return name_of(entry, "type") == "subagent"; }

  /// Both conventions are in use: since the session began, and since the subagent did.
  static bool nested_times_are_relative(const ValueArray& requests) {
    return std::ranges::any_of(requests, [](const Value& entry) {
      if (!entry.is_object() || !is_subagent(entry)) return false;
      const std::int64_t begin = time_ns(entry, "t", 1.0);
      return std::ranges::any_of(list(entry, "requests"), [&](const Value& call) {
        return call.is_object() && time_ns(call, "t", 1.0) < begin - rounding_ns;
      });
    });
  }

  /// The calls of an agent that call `parent` started (-1: nobody); returns those that nobody waits
  /// for. Times count from `origin_ns`.
  std::vector<int> read_agent(const ValueArray& requests, std::int64_t origin_ns, int parent) {
    Agent agent;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Value& entry = requests[i];
      try {
        if (!entry.is_object()) throw BadLine("must be {...}");
        if (is_subagent(entry)) {
          start_subagent(entry, origin_ns, agent, parent);
        } else {
          read_call(entry, origin_ns, agent, parent);
        }
      } catch (const BadLine& bad) {
        throw BadLine(fmt::format("requests[{}]: {}", i, bad.what()));
      }
    }
    std::vector<int> ends = agent.open;
    if (!agent.calls.empty()) ends.push_back(agent.calls.back());
    return ends;
  }

  void start_subagent(const Value& entry, std::int64_t origin_ns, Agent& agent, int parent) {
    const std::int64_t begin = origin_ns + delay_ns(entry, "t", 1.0);
    const int known = last_known(agent.calls, begin);
    const std::vector<int> ends = read_agent(
        list(entry, "requests"), is_relative_ ? begin : origin_ns, known >= 0 ? known : parent);
    agent.open.insert(agent.open.end(), ends.begin(), ends.end());
  }

  void read_call(const Value& entry, std::int64_t origin_ns, Agent& agent, int parent) {
    const std::int64_t begin = origin_ns + delay_ns(entry, "t", 1.0);
    const bool is_timed = entry.find("api_time") != nullptr;
    const std::int64_t end = begin + (is_timed ? delay_ns(entry, "api_time", 1.0) : 0);
    TraceRow row{begin, token_count(entry, "in"), answer_tokens(entry), {}};
    row.prefix_hashes = covering_hashes(hashes(entry, "hash_ids"), scope_);
    TracePlace place{.trajectory = name_, .id = id_of(static_cast<int>(rows_.size()))};
    std::optional<std::int64_t> think;
    if (entry.find("think_time") != nullptr) think = delay_ns(entry, "think_time", 1.0);
    const auto wait = [&](int call) {
      const std::int64_t passed = begin - times_[static_cast<std::size_t>(call)].end;
      place.waits_for.push_back({id_of(call), std::max<std::int64_t>(think.value_or(passed), 0)});
    };
    std::erase_if(agent.open, [&](int call) {
      const bool has_ended = times_[static_cast<std::size_t>(call)].end <= begin + rounding_ns;
      if (has_ended) wait(call);
      return has_ended;
    });
    if (place.waits_for.empty()) {
      const int known = last_known(agent.calls, begin);
      if (known >= 0 || parent >= 0) wait(known >= 0 ? known : parent);
    }
    row.place = std::move(place);
    agent.calls.push_back(static_cast<int>(rows_.size()));
    rows_.push_back(std::move(row));
    times_.push_back({begin, end});
  }

  /// An answer without tokens still took a prompt.
  static int answer_tokens(const Value& entry) {
    const Value& out = member(entry, "out");
    const auto* tokens = std::get_if<std::int64_t>(&out.data);
    return tokens != nullptr && *tokens == 0 ? 1 : token_count_of(out, "out");
  }

  /// Of `calls` the one that ended last before `date`; -1: none did.
  [[nodiscard]] int last_known(const std::vector<int>& calls, std::int64_t date) const {
    int last = -1;
    const auto end = [&](int call) { return times_[static_cast<std::size_t>(call)].end; };
    for (const int call : calls)
      if (end(call) <= date + rounding_ns && (last < 0 || end(call) >= end(last))) last = call;
    return last;
  }

  [[nodiscard]] std::string id_of(int call) const { return fmt::format("{}:{}", name_, call); }

  std::string name_, scope_;
  bool is_relative_ = false, is_global_ = false;
  int block_tokens_ = 0;
  std::vector<TraceRow> rows_;
  std::vector<Timed> times_;
};

class Weka final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.has("\"requests\"") && head.has("\"hash_ids\"") && head.has("\"in\"");
  }
  bool has_arrivals() const override { return false; }
  bool hashes_are_local() const override { return !has_global_; }
  int prefix_block_tokens() const override { return block_tokens_; }

 protected:
  JsonRecords records() const override { return {.path = {"*"}}; }
  void parse(const Value& record, TraceSink& sink) override {
    WekaSession session(fmt::to_string(sessions_++));
    session.read(record);
    if (session.rows().empty()) throw FailedRequest();
    if (block_tokens_ > 0 && session.block_tokens() != block_tokens_) {
      throw BadLine(fmt::format("block_size is {}, but that of earlier sessions {}; a file has one",
                                session.block_tokens(), block_tokens_));
    }
    block_tokens_ = session.block_tokens();
    has_global_ |= session.is_global();
    for (const TraceRow& row : session.rows()) sink.add(row, record.position.line);
  }

 private:
  int sessions_ = 0, block_tokens_ = 0;
  bool has_global_ = false;
};

}  // namespace

std::unique_ptr<TraceFormat> weka_trace() { return std::make_unique<Weka>(); }

}  // namespace foretoken

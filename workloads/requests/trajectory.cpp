#include "workloads/requests/trajectory.hpp"

#include <tsl/robin_map.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/mixed_bits.hpp"

namespace foretoken {
namespace {

/// A trajectory under way.
struct Open {
  std::uint64_t number = 0;
  Trajectory plan;
  std::size_t planned = 0;               // calls, those beyond the limit included
  std::vector<int> missing;              // calls that each still waits for
  std::vector<std::size_t> waiters_end;  // behind the last call that waits for each
  std::vector<Seconds> due;  // when each may be sent, by those that it no longer waits for
  std::vector<std::optional<RequestId>> after;  // the call whose end or start `due` comes from
  std::size_t left = 0;                         // calls that have not been answered
  int in_flight = 0;
  bool is_over = false;     // a call failed
  bool has_starts = false;  // calls that wait for others to be sent
  std::optional<std::uint32_t> adapter = std::nullopt;
};

class TrajectorySource final : public RequestSource {
 public:
  TrajectorySource(const Traffic& traffic, const RandomStreams& random,
                   std::unique_ptr<TrajectoryPlanner> planner)
      : limits_(traffic.limits),
        block_tokens_(traffic.prefix_block_tokens),
        times_(transformed(traffic.arrivals->start(random.stream("arrivals")), traffic.transform)),
        overtakes_(traffic.arrivals->overtakes()),
        planner_(std::move(planner)),
        adapters_(traffic.adapters, random),
        skipped_lines_(traffic.trace == nullptr ? 0 : traffic.trace->skipped_lines()) {}

  std::optional<Request> next() override {
    if (limits_.requests && planned_ >= *limits_.requests) return std::nullopt;
    const std::optional<Arrival> arrival = times_->next();
    if (!arrival || (limits_.duration && arrival->time >= *limits_.duration)) return std::nullopt;
    Open begun = begin(*arrival);
    const std::uint64_t number = begun.number;
    Open& open = open_.emplace(number, std::move(begun)).first->second;
    Request first = issue(open, 0, arrival->time);
    tell_sent(open, 0, first);
    return first;
  }

  std::optional<Request> next_follow_up() override {
    if (follow_ups_.empty()) return overtakes_ ? next() : std::nullopt;
    Request request = std::move(follow_ups_.front());
    follow_ups_.pop_front();
    return request;
  }

  void on_finished(RequestId id, Seconds now) override {
    const auto [number, call] = take(id);
    Open& open = open_.at(number);
    --open.in_flight;
    --open.left;
    if (!open.is_over) tell_waiting(open, call, {now, id, false});
    if (drop_if_over(open)) times_->on_finished(now);
  }

  void on_given_up(RequestId id, Seconds now) override {
    Open& open = open_.at(take(id).first);
    --open.in_flight;
    open.is_over = true;
    if (drop_if_over(open)) times_->on_given_up(now);
  }

  std::optional<std::int64_t> expected() const override { return limits_.requests; }

  std::int64_t skipped_lines() const override { return skipped_lines_; }

 private:
  /// Calls beyond the limit on requests are never sent.
  Open begin(const Arrival& arrival) {
    Open open;
    open.number = trajectories_++;
    open.plan = planner_->plan(arrival.trace_row.value_or(open.number));
    open.adapter = adapters_.next();
    std::vector<Call>& calls = open.plan.calls;
    FORETOKEN_CHECK(!calls.empty(), "trajectory {} has no calls", open.number);
    open.planned = calls.size();
    if (limits_.requests) {
      const auto room = static_cast<std::size_t>(*limits_.requests - planned_);
      if (calls.size() > room) calls.resize(room);
    }
    planned_ += static_cast<std::int64_t>(calls.size());
    open.left = calls.size();
    open.waiters_end.resize(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Call& call = calls[i];
      for (const CallWait& wait : call.waits_for) {
        const auto other = static_cast<std::size_t>(wait.call);
        FORETOKEN_CHECK(other < i, "call {} of a trajectory waits for call {}", i, wait.call);
        open.waiters_end[other] = i + 1;
      }
      open.missing.push_back(static_cast<int>(call.waits_for.size()));
      open.has_starts |= std::ranges::any_of(call.waits_for, &CallWait::for_start);
    }
    open.due.resize(calls.size());
    open.after.resize(calls.size());
    return open;
  }

  /// What has become of a call: it was sent, or it has ended.
  struct Event {
    Seconds date;
    RequestId request;
    bool is_start;
  };

  void tell_sent(Open& open, std::size_t call, const Request& sent) {
    if (open.has_starts) tell_waiting(open, call, {sent.arrival, sent.id, true});
  }

  /// Sends what waited for nothing else any more, and what waits for that to be sent.
  void tell_waiting(Open& open, std::size_t call, const Event& event) {
    for (std::size_t i = call + 1; i < open.waiters_end[call]; ++i) {
      bool was_waiting = false;
      for (const CallWait& wait : open.plan.calls[i].waits_for) {
        if (wait.call != static_cast<int>(call) || wait.for_start != event.is_start) continue;
        was_waiting = true;
        --open.missing[i];
        const Seconds due = event.date + wait.delay;
        if (due < open.due[i]) continue;
        open.due[i] = due;
        open.after[i] = event.request;
      }
      if (!was_waiting || open.missing[i] > 0) continue;
      Request next = issue(open, i, open.due[i]);
      next.after = open.after[i];
      follow_ups_.push_back(next);
      tell_sent(open, i, next);
    }
  }

  bool drop_if_over(const Open& open) {
    if (open.in_flight > 0 || (open.left > 0 && !open.is_over)) return false;
    open_.erase(open.number);
    return true;
  }

  /// The trajectory and call of a request that has ended.
  std::pair<std::uint64_t, std::size_t> take(RequestId id) {
    const auto found = call_of_.find(id.value);
    FORETOKEN_CHECK(found != call_of_.end(), "request {} is of no trajectory", id.value);
    const auto place = found->second;
    call_of_.erase(found);
    return place;
  }

  Request issue(Open& open, std::size_t number, Seconds arrival) {
    const Call& call = open.plan.calls[number];
    Request request = call.request;
    request.id = RequestId{issued_++};
    request.arrival = arrival;
    request.session = open.number;
    request.session_requests = static_cast<std::int32_t>(open.planned);
    if (!call.is_whole) go_on(open, call, request);
    give_adapter(open.adapter, request);
    call_of_.emplace(request.id.value, std::pair(open.number, number));
    ++open.in_flight;
    return request;
  }

  /// The request reads the text of its call, which then holds the answer too.
  void go_on(Open& open, const Call& call, Request& request) const {
    Text& text = open.plan.texts[static_cast<std::size_t>(call.text)];
    for (MediaItem& image : request.media) {
      image.first_token += text.tokens;
      text.media.push_back(image);
    }
    request.media = text.media;
    request.prompt_tokens += text.tokens;
    text.tokens = request.prompt_tokens + request.output_tokens - call.forgotten_tokens;
    request.prefix_block_tokens = block_tokens_;
    request.prefix_hashes_cover_output = call.forgotten_tokens == 0;
    request.prefix_hashes =
        hashes(open.number, call.text, text,
               request.prefix_hashes_cover_output ? text.tokens : request.prompt_tokens);
  }

  /// Of the whole blocks of the text's first `tokens`. Blocks within a system prompt are
  /// everybody's who has it; behind it a text is its own and only ever grows, so its number and the
  /// place say what a block and everything before it holds. Hashes count up from block to block:
  /// caches handle such runs as one.
  [[nodiscard]] PrefixHashes hashes(std::uint64_t trajectory, int number, const Text& text,
                                    std::int64_t tokens) const {
    Fingerprint of_prompt, own;
    of_prompt.add("system prompt").add(std::uint64_t{text.system_prompt});
    own.add("session").add(trajectory);
    if (number > 0) own.add(static_cast<std::uint64_t>(number));
    const std::int64_t blocks = tokens / block_tokens_;
    const std::int64_t everybodys = std::min(text.system_tokens / block_tokens_, blocks);
    PrefixHashes all;
    all.append({of_prompt.value(), everybodys});
    all.append({own.value(), blocks - everybodys});
    return all;
  }

  TrafficLimits limits_;
  std::int64_t block_tokens_;
  std::unique_ptr<ArrivalTimes> times_;  // of trajectories
  bool overtakes_;                       // they are not in order of time
  std::unique_ptr<TrajectoryPlanner> planner_;
  AdapterDraws adapters_;  // of trajectories
  std::int64_t skipped_lines_;
  std::uint64_t trajectories_ = 0;
  std::int64_t planned_ = 0;  // calls
  std::uint32_t issued_ = 0;
  std::deque<Request> follow_ups_;
  // Looked up, never walked.
  std::unordered_map<std::uint64_t, Open> open_;
  tsl::robin_map<std::uint32_t, std::pair<std::uint64_t, std::size_t>, MixedHash>
      call_of_;  // by request
};

}  // namespace

std::unique_ptr<RequestSource> play(const Traffic& traffic, const RandomStreams& random,
                                    std::unique_ptr<TrajectoryPlanner> planner) {
  return std::make_unique<TrajectorySource>(traffic, random, std::move(planner));
}

}  // namespace foretoken

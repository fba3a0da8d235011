#include "workloads/requests/recorded_trajectories.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/fingerprint.hpp"
#include "workloads/requests/traffic.hpp"
#include "workloads/requests/trajectory.hpp"

namespace foretoken {
namespace {

/// Where `next`, which comes behind it, goes on with the prompt and the answer of `call`, the
/// blocks of the answer are those of its prompt: they are found in the cache once the answer was
/// generated. Traces have hashes of prompts alone; Dynamo's replay infers the rest likewise
/// (ai-dynamo/dynamo, pull request 8953). A prompt that is shorter than both together left
/// something out.
bool take_answer(Request& call, const Request& next) {
  const std::int64_t both = call.prompt_tokens + call.output_tokens;
  if (next.prompt_tokens < both || call.prefix_hashes.empty()) return false;
  const std::int64_t whole = call.prompt_tokens / call.prefix_block_tokens;
  const std::int64_t answered = both / call.prefix_block_tokens;
  const PrefixRuns read = call.prefix_hashes.first(whole);
  if (read.size() < whole || next.prefix_hashes.first(answered).size() < answered) return false;
  if (read != next.prefix_hashes.first(whole)) return false;
  call.prefix_hashes.shorten(whole);
  call.prefix_hashes.append(next.prefix_hashes.part(whole, answered));
  call.prefix_hashes_cover_output = true;
  return true;
}

class RecordedPlanner final : public TrajectoryPlanner {
 public:
  RecordedPlanner(const Traffic& traffic, const RandomStreams& random)
      : trace_(traffic.trace), draws_(traffic, random) {}

  Trajectory plan(std::uint64_t number) override {
    const std::vector<TraceTrajectory>& all = trace_->trajectories();
    Trajectory plan;
    plan.texts.emplace_back();
    draws_.begin_trajectory();
    for (const TraceCall& recorded : all[number % all.size()]) {
      Call call{.request = draws_.next(recorded.row), .waits_for = recorded.waits_for};
      call.is_whole = !recorded.adds_to_text;
      if (trace_->hashes_are_local()) tell_apart(call.request);
      plan.calls.push_back(std::move(call));
    }
    find_answers(plan.calls);
    ++played_;
    return plan;
  }

 private:
  /// What is played again is another text.
  void tell_apart(Request& request) const {
    PrefixHashes own;
    for (const std::uint64_t hash : request.prefix_hashes)
      own.push_back(Fingerprint().add("trajectory").add(played_).add(hash).value());
    request.prefix_hashes = std::move(own);
  }

  /// From the first to the last, so that each is compared with prompts as they were recorded.
  /// Others may stand between a call and the one that goes on with it: subagents.
  static void find_answers(std::vector<Call>& calls) {
    std::vector<char> is_behind;  // the end of call i
    for (std::size_t i = 0; i < calls.size(); ++i) {
      is_behind.assign(calls.size(), 0);
      for (std::size_t k = i + 1; k < calls.size(); ++k) {
        is_behind[k] = std::ranges::any_of(calls[k].waits_for, [&](const CallWait& wait) {
          return is_behind[static_cast<std::size_t>(wait.call)] != 0 ||
                 (wait.call == static_cast<int>(i) && !wait.for_start);
        });
        if (is_behind[k] != 0 && take_answer(calls[i].request, calls[k].request)) break;
      }
    }
  }

  std::shared_ptr<const Trace> trace_;
  RequestDraws draws_;
  std::uint64_t played_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> start_recorded(const Traffic& traffic, const RandomStreams& random) {
  return play(traffic, random, std::make_unique<RecordedPlanner>(traffic, random));
}

}  // namespace foretoken

// Where a request's time went: every instant between its arrival and its last token has one cause,
// so that the parts add up to what its client saw. sim/run's LatencyCollector fills it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"

namespace foretoken {

/// What a request was waiting for. Computation is the GPU's without collectives. A step that does
/// several things takes so much longer for each: prefill of others is what it would take less
/// without their prompts, decode of others what it would take less again with the request alone.
///   front_end        HTTP and tokenizer before its engine, the way of tokens to the client after
///   queueing         in the engine, before the first step that works on it
///   own_prefill, own_decode, others_prefill, others_decode
///                    steps that work on it, and others' that it waited for between them
///   recompute        its own tokens again, lost by preemption or with a replica
///   preempted        from its last step before a preemption to the next one
///   retry            from its last step on a replica that failed to the first on another
///   drafts           passes of the draft model
///   encoder          images and audio that its steps encode, its own and others'
///   kv_copies        KV blocks to and from the host's memory
///   host             GPUs waiting for the CPU
///   communication    collectives, and hidden states between pipeline stages
///   kv_wait          until a replica that decodes had KV blocks for it
///   kv_transfer      its KV cache on the way there
///   image_transfer   its images and audio, encoded elsewhere, on the way to its prompt's replica
///   idle             the replica did nothing for it and nothing else in its place: bubbles
enum class LatencyCause {
  front_end,
  queueing,
  own_prefill,
  own_decode,
  others_prefill,
  others_decode,
  recompute,
  preempted,
  retry,
  drafts,
  encoder,
  kv_copies,
  host,
  communication,
  kv_wait,
  kv_transfer,
  image_transfer,
  idle
};
template <>
struct EnumNames<LatencyCause> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"front_end", "queueing", "own_prefill", "own_decode", "others_prefill", "others_decode",
       "recompute", "preempted", "retry", "drafts", "encoder", "kv_copies", "host", "communication",
       "kv_wait", "kv_transfer", "image_transfer", "idle"});
};

/// Seconds by cause.
class LatencyParts {
 public:
  static constexpr std::size_t count = EnumNames<LatencyCause>::names.size();

  double& operator[](LatencyCause cause) { return seconds_[static_cast<std::size_t>(cause)]; }
  double operator[](LatencyCause cause) const { return seconds_[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] double sum() const {
    double sum = 0;
    for (const double part : seconds_) sum += part;
    return sum;
  }
  void add(const LatencyParts& other, double times = 1) {
    for (std::size_t i = 0; i < count; ++i) seconds_[i] += other.seconds_[i] * times;
  }

 private:
  std::array<double, count> seconds_{};
};

/// GPU time of kernels or collectives of a family that one thing bounds.
struct BoundTime {
  std::string_view family, bound;  // of EnumNames and kernel_name(): they outlive every run
  double seconds = 0;
};

/// Adds to the entry of `family` and `bound`, which is made if it is not there.
inline void add_bound_time(std::vector<BoundTime>& times, const BoundTime& more) {
  for (BoundTime& known : times) {
    if (known.family != more.family || known.bound != more.bound) continue;
    known.seconds += more.seconds;
    return;
  }
  times.push_back(more);
}

/// A stretch of a request's life.
struct LatencyPhase {
  double whole_s = 0;  // the sum of all parts
  LatencyParts parts;
  /// What its replica did while it queued: of `parts`, queueing. Idle: nothing, though it waited.
  LatencyParts while_queueing;
  /// Of all steps in this stretch, its own and those that it waited or queued behind.
  std::vector<BoundTime> kernels;

  void add(const LatencyPhase& other) {
    whole_s += other.whole_s;
    parts.add(other.parts);
    while_queueing.add(other.while_queueing);
    for (const BoundTime& time : other.kernels) add_bound_time(kernels, time);
  }
};

struct LatencySplit {
  LatencyPhase to_first_token;  // from arrival; whole_s is the TTFT
  LatencyPhase after;           // to the last token
};

}  // namespace foretoken

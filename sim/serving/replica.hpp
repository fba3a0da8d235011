// One copy of the model: attention ranks (schedulers and KV caches) and pipeline stages. Its loop
// is the only loop of the simulation: take the next batches, price them stage by stage, wait, hand
// out tokens, again. As many steps are in flight as there are stages, so pipeline bubbles come out
// of the simulation. Attention ranks step together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/metrics/timeline.hpp"
#include "sim/platform/platform.hpp"
#include "sim/serving/attention_ranks.hpp"
#include "sim/serving/router.hpp"
#include "sim/serving/stage_pricer.hpp"

namespace foretoken {

/// Told when a request has ended, after the replica has let go of it.
class ReplicaListener {
 public:
  virtual ~ReplicaListener() = default;
  virtual void on_request_ended(const RequestRecord& record) = 0;
};

/// Sees every step of every stage, once for each attention rank with work, for `--steps` and
/// traces.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
                       const Batch& batch) = 0;
};

struct ReplicaConfig {
  ReplicaId id;
  std::vector<std::vector<GpuId>> stage_gpus;  // by stage, by attention and tensor-parallel rank
  std::vector<StagePricer*> pricers;           // by stage
  /// By stage: closed form of the send to the next stage where its links are private, else ranks =
  /// 0 and the platform simulates it. The last stage's is unused.
  std::vector<GroupLinks> send_links;
  CommParameters comm;
  std::int64_t context_max = 0;  // longest prompt + output that is served
  Seconds host_time;             // before every step
  bool lists_sequences = false;  // exact attention
};

class Replica final : public EventHandler {
 public:
  /// References must outlive the replica; `observer` may be null.
  Replica(ReplicaConfig config, Platform& platform, AttentionRanks ranks, Timeline& timeline,
          ReplicaListener& listener, StepObserver* observer);

  /// Takes a request. One that can never fit ends at once as failed.
  void submit(const Request& request);

  /// Records every request that has not ended as unfinished: the run was cut.
  void abandon();

  [[nodiscard]] ReplicaId id() const { return config_.id; }
  [[nodiscard]] const AttentionRanks& ranks() const { return ranks_; }
  [[nodiscard]] Seconds host_time_total() const { return host_time_total_; }
  [[nodiscard]] Seconds shared_communication() const { return shared_communication_; }

  void on_event(std::uint64_t tag) override;

 private:
  enum class EventKind : std::uint64_t { computed, communicated, sent, overlapped };
  struct Slot {                  // a step in flight
    std::vector<Batch> batches;  // by attention rank
    Seconds started;             // of the current stage
    Seconds communication_from;
    std::size_t shared_next = 0;  // collectives of the current stage that were started
    StagePrice price;
    int transfers_open = 0;
    bool busy = false;
  };

  [[nodiscard]] static std::uint64_t tag(EventKind kind, std::size_t stage, std::size_t slot);
  [[nodiscard]] std::size_t stage_count() const { return config_.pricers.size(); }
  [[nodiscard]] bool is_last(std::size_t stage) const { return stage + 1 == stage_count(); }

  void start_next_step();
  [[nodiscard]] StagePrice price(std::size_t stage, const Slot& slot);
  void start_stage(std::size_t stage, std::size_t slot);
  /// Starts the next shared collective of the stage, or ends it after the last.
  void communicate(std::size_t stage, std::size_t slot);
  void start_collective(const SharedCollective& collective, std::size_t stage, std::size_t slot);
  void end_communication(std::size_t stage, std::size_t slot);
  void finish_stage(std::size_t stage, std::size_t slot);
  void send_onwards(std::size_t stage, std::size_t slot);
  void serve_queue(std::size_t stage);
  void complete(std::size_t slot);
  void count_tokens(const Batch& batch);
  void end(Sequence& sequence, RequestStatus status);
  Sequence& new_sequence(const Request& request);

  ReplicaConfig config_;
  Platform& platform_;
  AttentionRanks ranks_;
  Timeline& timeline_;
  ReplicaListener& listener_;
  StepObserver* observer_;

  std::vector<Slot> slots_;  // one a stage
  std::vector<bool> stage_busy_;
  std::vector<std::deque<std::size_t>> stage_queue_;  // slots that wait for a stage
  std::deque<Sequence> sequences_;                    // stable addresses
  std::vector<Sequence*> free_sequences_;
  std::vector<BatchShape> shapes_;  // scratch
  Seconds host_time_total_, shared_communication_;
};

}  // namespace foretoken

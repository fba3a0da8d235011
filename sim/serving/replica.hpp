// One copy of the model: attention ranks (schedulers and KV caches) and pipeline stages. Its loop
// is the only loop of the simulation: take the next batches, price them stage by stage, wait, hand
// out tokens, again. As many steps are in flight as there are stages. Ranks step together.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/communication/comm_groups.hpp"
#include "sim/base/mixed_bits.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/platform/platform.hpp"
#include "sim/serving/adapter_cache.hpp"
#include "sim/serving/attention_ranks.hpp"
#include "sim/serving/encoder_pricer.hpp"
#include "sim/serving/host_clock.hpp"
#include "sim/serving/kv_port.hpp"
#include "sim/serving/media_port.hpp"
#include "sim/serving/pool.hpp"
#include "sim/serving/settings/engine_memory.hpp"
#include "sim/serving/settings/handoff_settings.hpp"
#include "sim/serving/speculation.hpp"
#include "sim/serving/stage_pricer.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

struct ReplicaConfig {
  ReplicaId id;
  std::size_t pool = 0;  // by which the timeline sums up
  PoolRole role = PoolRole::both;
  KvPort* port = nullptr;         // of all roles but both
  MediaPort* media = nullptr;     // who brings images; null: it encodes them itself
  bool announces_pieces = false;  // prefill: tells the port of pieces, not only of whole prompts
  bool shows_first_token = true;  // prefill: to the client, at once
  std::vector<std::vector<GpuId>> stage_gpus;  // by stage, by attention and tensor-parallel rank
  std::vector<StagePricer*> pricers;           // by stage
  /// By stage: its number on the platform, where its steps are simulated; else empty.
  std::vector<std::optional<std::size_t>> stages = {};
  /// By stage: of the send to the next stage. Where they are private it takes its price, else the
  /// platform simulates it. The last stage's are unused.
  std::vector<GroupLinks> send_links;
  CommSettings comm;
  CommGroupSizes groups;         // of a stage's GPUs
  int micro_batches = 0;         // steps in flight at once; 0 = as many as there are stages
  std::int64_t context_max = 0;  // longest prompt + output that is served
  std::int64_t queue_max = 0;    // requests waiting on an attention rank; 0 = any number
  HostSettings host;             // as it is on this CPU
  bool lists_sequences = false;  // for attention by its plan
  std::vector<Bytes> kv_block;   // by stage: of one GPU
  std::vector<int> layers;       // by stage
  HostCopies host_copies = HostCopies::layer_wise;
  std::optional<Speculation> speculation = {};
  AdapterLimits adapters = {};       // of each attention rank
  EncoderPricer* encoder = nullptr;  // of images; null: no request has any
};

/// Makes a replica's engines with empty caches: once, and again whenever it starts anew.
using EngineStart = std::function<AttentionRanks()>;

class Replica final : public EventHandler {
 public:
  /// References must outlive the replica; `observer` may be null.
  Replica(ReplicaConfig config, Platform& platform, EngineStart start_engines, Timeline& timeline,
          RequestListener& listener, StepObserver* observer);

  /// Takes a request, whose `record` says what became of it so far. One that can never fit ends at
  /// once as failed, one that finds the queue full as rejected.
  void submit(const Request& request, const RequestRecord& record);
  /// Ends a request with `status`, wherever it is. Returns false if it is not here.
  bool cancel(RequestId id, RequestStatus status);
  [[nodiscard]] bool has(RequestId id) const { return by_id_.contains(id.value); }

  /// Why it could not even serve the request alone; none: it could.
  [[nodiscard]] FailureReason refusal(const Request& request) const;
  /// prefill: what on_prefilled() told of is not needed here any more; the request is completed.
  void release(RequestId id);
  /// decode: all that was missing after on_reserved() has come; `record`: from whom.
  void receive(RequestId id, const RequestRecord& record);
  /// decode: it will not come, the prompt is computed here. False: nobody waits for it here.
  bool recompute(RequestId id, const RequestRecord& record);

  /// What was asked of the image port for a request has come, if it is still here.
  void receive_media(RequestId id);

  /// Ends every request that has not ended as unfinished: the run was cut.
  void abandon();

  /// The GPUs are gone: every request is lost, steps in flight never end (bytes on the network go
  /// on), and the caches are empty when it is used again.
  void fail();
  /// As a replica that has just started. It must have no requests.
  void reset();
  /// Writes the next part of `left` to the store; when it will have come, now: that was all.
  Seconds leave_cache(LeavingPrefixes& left);

  /// Tells `listener`, which must outlive the replica, what prefixes its caches find from now on.
  /// What is gone because the replica fails or starts anew is not told.
  void tell(PrefixListener* listener) {
    prefix_listener_ = listener;
    ranks_.tell(listener);
  }

  [[nodiscard]] ReplicaId id() const { return config_.id; }
  [[nodiscard]] PoolRole role() const { return config_.role; }
  [[nodiscard]] const AttentionRanks& ranks() const { return ranks_; }
  /// decode: requests whose KV cache has no blocks to come to so far.
  [[nodiscard]] std::int64_t waiting_for_blocks() const { return std::ssize(reserving_); }
  [[nodiscard]] const std::vector<std::vector<GpuId>>& stage_gpus() const {
    return config_.stage_gpus;
  }
  /// Since the run began, whatever caches were lost meanwhile.
  [[nodiscard]] PrefixTotals prefix_totals() const;
  [[nodiscard]] HostTotals host_totals() const;
  [[nodiscard]] const HostClock& host() const { return host_; }
  [[nodiscard]] Seconds shared_communication() const { return shared_communication_; }
  /// Sends from stage to stage that took their price, and those that the platform carried.
  [[nodiscard]] std::int64_t sends_priced() const { return sends_priced_; }
  [[nodiscard]] std::int64_t sends_shared() const { return sends_shared_; }
  /// By which steps were longer because of copies to and from the host.
  [[nodiscard]] Seconds copy_wait() const { return copy_wait_; }
  /// And because adapters had to be loaded.
  [[nodiscard]] Seconds adapter_wait() const { return adapter_wait_; }
  [[nodiscard]] AdapterTotals adapter_totals() const;
  [[nodiscard]] EncoderTotals encoder_totals() const;
  /// Adapters in GPU memory, on any attention rank, in no particular order but always the same.
  [[nodiscard]] std::vector<std::uint32_t> adapters_held() const;
  /// Null without speculation.
  [[nodiscard]] const SpeculationTotals* speculation() const {
    return config_.speculation ? &config_.speculation->acceptance.totals() : nullptr;
  }

  void on_event(std::uint64_t tag) override;

 private:
  enum class EventKind : std::uint64_t {
    computed,
    communicated,
    sent,
    overlapped,
    copied,   // KV blocks, between a GPU and its host
    settled,  // the last layer, after copies
    received,
    begun,           // a step, with others in flight
    fetched,         // KV blocks, from a store to the host
    prefetched,      // likewise, beside steps
    prefetch_is_due  // who waits for it waits no longer
  };
  struct Prefetch {  // of a request's prefix, in parts
    Sequence* sequence = nullptr;
    RequestId id = {};
    std::vector<std::uint64_t> hashes = {};
    std::int64_t chunk_blocks = 0;
    std::size_t come = 0;  // of the hashes
    int events_open = 0;
    bool is_waiting = false;  // the request, for it
  };
  struct Slot {                  // a step in flight
    std::vector<Batch> batches;  // by attention rank
    Seconds started;             // of the current stage
    Seconds communication_from, communication_end;
    Seconds sent_from;            // to the current stage
    std::size_t shared_next = 0;  // collectives of the current stage that were started
    StagePrice price;
    Seconds draft_time;    // of the passes behind the last stage
    EncoderPrice encoder;  // of the images before the first stage
    int transfers_open = 0;
    bool busy = false;
    std::vector<KvCopies> copies;         // by attention rank; empty: none in this step
    int copies_open = 0;                  // of the current stage
    Seconds copies_time;                  // they took in this stage
    Seconds compute_from, compute_due;    // if nobody else is on its links
    std::optional<Seconds> compute_time;  // once over
  };

  [[nodiscard]] std::uint64_t tag(EventKind kind, std::size_t stage, std::size_t slot) const;
  [[nodiscard]] std::size_t stage_count() const { return config_.pricers.size(); }
  [[nodiscard]] bool is_last(std::size_t stage) const { return stage + 1 == stage_count(); }

  /// Adds how it was since the last change to the timeline, and keeps how it is now. Whatever
  /// changes who runs and what is held ends with it.
  void count_load();
  [[nodiscard]] ReplicaLoad load_now() const;
  void forget_adapters();
  void handle(std::uint64_t tag);
  /// Takes a request, or ends it at once.
  void admit(Sequence& sequence, const Request& request);
  /// Why it could never be served; none: it can.
  [[nodiscard]] FailureReason obstacle(const Sequence& sequence, std::int64_t tokens) const;
  /// Hands it to the front end.
  void enter(Sequence& sequence);
  void start_next_step();
  [[nodiscard]] bool fills_in_turn() const;
  /// decode: takes blocks for those that wait to be brought here, in order.
  void reserve_blocks();
  /// prefill: tells the port of the pieces of prompts in a stage's step.
  void announce_pieces(std::size_t stage, const Slot& slot, bool have_started);
  /// prefill: tells the port of prompts that were preempted.
  void announce_displaced();
  /// The front end hands `sequence` to the engine.
  void take(Sequence& sequence);
  void take_arrivals();
  /// Hands it to the schedulers.
  void queue(Sequence& sequence);
  /// Whether the store is read for `sequence` and it waits for that.
  bool prefetch(Sequence& sequence);
  void take_prefetched(std::size_t number);
  void end_prefetch_event(std::size_t number, bool waits_no_longer);
  [[nodiscard]] std::int64_t waiting_for_store() const;
  /// Blocks of all stages and a rank's GPUs together.
  [[nodiscard]] Bytes block_of_rank() const;
  /// What the attention ranks run, padded to CUDA graphs; valid until the next call.
  [[nodiscard]] std::span<const BatchShape> shapes_of(const Slot& slot);
  [[nodiscard]] StagePrice price(std::size_t stage, const Slot& slot);
  void tell_observer(std::size_t stage, const Slot& slot, const ReplicaLoad& load);
  [[nodiscard]] Seconds host_delay(const Slot& slot);
  /// Until the adapters of the step are on the GPUs; ranks load theirs at the same time.
  Seconds load_adapters(const Slot& slot);
  Seconds price_drafts(Slot& slot);
  /// Of the attention rank whose images take longest.
  [[nodiscard]] EncoderPrice price_media(const Slot& slot);
  void start_stage(std::size_t stage, std::size_t slot);
  void start_copies(std::size_t stage, std::size_t slot);
  void copy_parts(std::size_t stage, std::size_t slot, Platform::HostCopy direction);
  bool pass_store(std::size_t stage, std::size_t slot);
  void take_fetched(std::size_t stage, std::size_t slot);
  void end_copies(std::size_t stage, std::size_t slot);
  void compute(std::size_t stage, std::size_t slot);
  /// A step whose collectives meet others on the node's links, between what is not priced.
  void compute_on_links(std::size_t stage, std::size_t slot, Seconds before, Seconds after);
  void end_compute(std::size_t stage, std::size_t slot);
  void settle(std::size_t stage, std::size_t slot);
  /// The step has computed. What it waited for others on its links counts as communication.
  void begin_communication(Slot& slot) const;
  /// Starts the next shared collective of the stage, or ends it after the last.
  void communicate(std::size_t stage, std::size_t slot);
  void start_collective(const SharedCollective& collective, std::size_t stage, std::size_t slot);
  void end_communication(std::size_t stage, std::size_t slot);
  void finish_stage(std::size_t stage, std::size_t slot);
  void send_onwards(std::size_t stage, std::size_t slot);
  void serve_queue(std::size_t stage);
  void complete(std::size_t slot);
  void count_tokens(const Batch& batch);
  /// prefill: the prompt is computed; somebody else goes on.
  void hand_over(Sequence& sequence);
  /// Gives the sequence of `entry` its tokens.
  void produce(const BatchEntry& entry, const Batch& batch);
  void end(Sequence& sequence, RequestStatus status);
  /// The client is through with it; its record as it is to be handed on.
  RequestRecord close(Sequence& sequence, RequestStatus status);
  void recycle(Sequence& sequence);
  /// Those that have not ended, by id.
  [[nodiscard]] std::vector<Sequence*> live();
  Sequence& new_sequence(const Request& request, const RequestRecord& record);

  ReplicaConfig config_;
  Platform& platform_;
  EngineStart start_engines_;
  AttentionRanks ranks_;
  PrefixListener* prefix_listener_ = nullptr;  // may stay null
  std::vector<AdapterCache> adapters_;         // by attention rank; empty: there are none
  AdapterTotals past_adapters_;
  EncoderTotals past_media_;
  PrefixTotals past_prefixes_;  // of caches that were lost
  HostTotals past_host_;
  Timeline& timeline_;
  RequestListener& listener_;
  StepObserver* observer_;

  std::vector<Slot> slots_;  // one a stage
  std::vector<bool> stage_busy_;
  std::vector<std::deque<std::size_t>> stage_queue_;  // slots that wait for a stage
  std::deque<Sequence> sequences_;                    // stable addresses
  std::vector<Sequence*> free_sequences_;
  tsl::robin_map<std::uint32_t, Sequence*, MixedHash> by_id_;  // not ended; never walked
  std::deque<Sequence*> reserving_;                            // decode: without blocks so far
  std::vector<Sequence*> begun_;    // prefill: announced and not handed over
  bool awaits_oldest_ = false;      // in_turn: nobody could run beside the steps in flight
  bool is_completing_ = false;      // a step; the next one waits until all of it is accounted for
  std::uint64_t life_ = 0;          // ends with a failure; events of an earlier one mean nothing
  std::vector<BatchShape> shapes_;  // scratch
  HostClock host_;
  std::deque<Sequence*> front_end_queue_;   // null: was cancelled there
  Seconds front_end_free_, codec_free_at_;  // when all of these, and of the store's, are through
  std::vector<Prefetch> prefetches_;
  std::vector<std::size_t> free_prefetches_;
  std::vector<Sequence*> arrivals_;  // came while an asynchronous engine had scheduled already
  Seconds shared_communication_, copy_wait_, adapter_wait_;
  std::int64_t sends_priced_ = 0, sends_shared_ = 0;
  ReplicaLoad load_;  // since
  Seconds load_since_;
};

}  // namespace foretoken

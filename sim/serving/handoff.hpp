// Prefill and decode on replicas of their own: a pool made of two fleets. A request's prompt is
// computed by a replica of the one; its KV cache then moves over the simulated network to a replica
// of the other, which has taken blocks for it and decodes the rest. The replica that computed it
// keeps its blocks until everything has been sent, so that a full decode fleet holds the prefill
// fleet up, never the other way round.
//
//   after_prefill  the decode replica is chosen when the prompt is computed, and fetches the whole
//                  (vLLM's NixlConnector)
//   layer_wise     it is chosen when the first piece of the prompt begins; a piece's layers are
//   sent
//                  while the next ones are computed, and what is left when the prompt is done are
//                  the last layer and what the network has fallen behind (Mooncake, Splitwise).
//                  Blocks that come late make a piece wait, to be sent as soon as they are there. A
//                  prompt that is preempted gives up the blocks that it was to go to: others that
//                  are computed may be waiting for them, and it for theirs.
//
// Short prompts may skip all this: the decode replica computes them itself.
//
// A failure of either side loses the request, whose next attempt is whole; with retry =
// failed_side a decode replica that fails before the KV cache has come only costs its own part, and
// with kv_load_failure = recompute so does a prefill replica: the decode replica computes the
// prompt.
//
// A sequence that a decode replica preempts is recomputed there. What it leaves out: the control
// messages between the two, and transfers in blocks (tokens are sent, not blocks rounded up).
#pragma once

#include <unordered_map>
#include <vector>

#include "sim/serving/fleet.hpp"
#include "sim/serving/kv_shards.hpp"
#include "sim/serving/settings/front_end_settings.hpp"
#include "sim/serving/settings/handoff_settings.hpp"

namespace foretoken {

/// How KV caches get from one kind of replica to another.
struct KvPath {
  std::vector<KvShard> shards;
  std::vector<int> stage_layers;  // of the replica that sends
  int from_tensor = 1, to_tensor = 1;
};

class Handoff final : public Pool, public KvPort, public EventHandler {
 public:
  /// `paths` by kind of the prefill replica, then of the decode replica; of `attempts` how many
  /// there are and after what delay. References must outlive the handoff.
  Handoff(std::vector<std::vector<KvPath>> paths, const HandoffSettings& settings,
          const FrontEndSettings& attempts, Platform& platform, RequestListener& client);

  /// Whom the fleets tell of their requests.
  [[nodiscard]] RequestListener& prefill_listener() { return prefill_listener_; }
  [[nodiscard]] RequestListener& decode_listener() { return decode_listener_; }
  /// Once, before the first request.
  void connect(Fleet& prefill, Fleet& decode);
  /// All replicas of both fleets; `kind` counts those that prefill and those that decode apart.
  void add(Replica& replica, std::size_t kind);

  void submit(const Request& request, const RequestRecord& record) override;
  void cancel(RequestId id, RequestStatus status) override;
  void abandon() override;

  void on_piece_started(const PromptPiece& piece, Seconds time) override;
  void on_piece_computed(const PromptPiece& piece) override;
  void on_displaced(RequestId request) override;
  void on_prefilled(const RequestRecord& record, std::size_t attention_rank) override;
  [[nodiscard]] bool is_local(RequestId request) const override {
    return open_.at(request.value).is_local;
  }
  void on_reserved(ReplicaId replica, RequestId request, std::size_t attention_rank,
                   std::int64_t found) override;

  void on_event(std::uint64_t tag) override;

 private:
  enum class Side { prefill, decode };
  class SideListener final : public RequestListener {
   public:
    SideListener(Handoff& handoff, Side side) : handoff_(handoff), side_(side) {}
    void on_first_token(RequestId id, Seconds seen) override {
      handoff_.client_.on_first_token(id, seen);
    }
    void on_request_ended(const RequestRecord& record) override {
      handoff_.on_ended(side_, record);
    }
    void on_request_lost(const RequestRecord& record) override { handoff_.on_lost(side_, record); }

   private:
    Handoff& handoff_;
    Side side_;
  };

  struct Member {
    Replica* replica = nullptr;
    std::size_t kind = 0;
  };
  /// What is to be sent when the stage has computed it.
  struct Tail {
    int stage = 0;
    GpuId from, to;
    Bytes size;
  };
  struct Open {
    Request request;
    RequestRecord record;      // as far as the client's view is known here
    std::uint32_t serial = 0;  // of attempts, so that an earlier one's transfers mean nothing
    bool is_local = false;     // the decode fleet computes the prompt, too
    bool is_prefilling = false, is_decoding = false;  // a fleet has it
    int kept = 0;               // decode replicas that failed while the prompt stayed
    int recomputed = 0;         // prefill replicas that failed while the decode side stayed
    bool is_delayed = false;    // the decode fleet is asked again later,
    bool wants_decode = false;  // if it still has to be then
    bool is_prefilled = false, has_arrived = false;
    ReplicaId from, to;
    std::size_t from_rank = 0, to_rank = 0;  // attention ranks
    bool has_source = false, is_reserved = false;
    std::int64_t found = 0;           // tokens that need not be sent
    std::vector<std::int64_t> ready;  // tokens computed, by stage that sends
    std::vector<std::int64_t> sent;   // tokens sent or being sent, likewise
    std::vector<Tail> tails;
    int transfers_open = 0;
    Bytes bytes;
    Seconds prefilled_at, reserved_at, first_sent_at{-1.0};
  };
  /// A part of a transfer: a delay before its stream begins, or bytes on their way.
  struct Part {
    RequestId request;
    std::uint32_t serial = 0;
    bool is_delay = false;
    GpuId from, to;
    Bytes size;
    BytesPerSecond rate;
  };

  [[nodiscard]] const Member& member(ReplicaId replica) const {
    return members_[replica.value - first_.value];
  }
  void on_ended(Side side, const RequestRecord& record);
  void on_lost(Side side, const RequestRecord& record);
  [[nodiscard]] Open* find(RequestId id);
  [[nodiscard]] const KvPath& path_of(const Open& open) const;
  [[nodiscard]] GpuId gpu_of(ReplicaId replica, int stage, std::size_t attention_rank, int rank,
                             int tensor) const;

  /// Whatever was to go to a decode replica has nowhere to go.
  void forget_target(Open& open);
  /// Whether the request goes on with the decode side lost.
  bool keep_prompt(Open& open);
  /// And with the prefill side lost, of which `record` is what became.
  bool recompute_prompt(Open& open, const RequestRecord& record);
  [[nodiscard]] bool may_try_again(const Open& open) const {
    return open.record.attempts + open.kept + open.recomputed < attempts_max_;
  }
  void ask_again(RequestId id, int kept);
  void start_source(Open& open, ReplicaId replica, std::size_t attention_rank);
  void ask_decode(Open& open);
  void send_ready(Open& open);
  void send(Open& open, int stage, std::int64_t tokens);
  void stream(Open& open, const PromptPiece& piece, std::int64_t tokens, Seconds time);
  std::uint32_t add_part(Open& open, Part part);
  void finish_if_arrived(Open& open);
  /// Takes the request from every fleet that has it, without telling the client.
  void withdraw(Open& open, RequestStatus status);

  std::vector<std::vector<KvPath>> paths_;
  HandoffSettings settings_;
  int attempts_max_;
  Seconds retry_delay_;
  Platform& platform_;
  RequestListener& client_;
  SideListener prefill_listener_{*this, Side::prefill}, decode_listener_{*this, Side::decode};
  Fleet* prefill_ = nullptr;
  Fleet* decode_ = nullptr;
  ReplicaId first_;  // the others follow
  std::vector<Member> members_;
  std::vector<std::size_t> decoders_;             // of members_
  std::unordered_map<std::uint32_t, Open> open_;  // by id; never walked
  std::vector<Part> parts_;
  std::vector<std::uint32_t> free_parts_;
  std::uint32_t serials_ = 0;
  bool is_abandoning_ = false;
};

}  // namespace foretoken

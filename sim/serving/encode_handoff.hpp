// Images and audio encoded on replicas of their own (encode, prefill and decode apart): a pool made
// of a fleet that encodes and of the pool behind it that serves the language model. A request with
// images goes to the fleet first; when all of them are encoded, it goes on, and what they were
// encoded to moves over the simulated network to each rank of the replica's first stage that took
// it (vLLM's EPD proxy and ECConnector). Requests without images go straight on.
// What it leaves out: images that the replica still has from another request travel again, and what
// travelled is at hand for as long as its request lives.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "sim/platform/platform.hpp"
#include "sim/serving/fleet.hpp"
#include "sim/serving/media_port.hpp"

namespace foretoken {

class EncodeHandoff final : public Pool, public MediaPort, public EventHandler {
 public:
  /// By Medium: what a token becomes, or what was sent.
  using MediaBytes = std::array<Bytes, all_media.size()>;
  /// References must outlive the handoff.
  EncodeHandoff(const MediaBytes& token_bytes, Platform& platform, RequestListener& client)
      : token_bytes_(token_bytes), platform_(platform), client_(client) {}

  /// Whom the fleet that encodes tells of its requests, and the pool behind it.
  [[nodiscard]] RequestListener& encode_listener() { return encode_listener_; }
  [[nodiscard]] RequestListener& serve_listener() { return serve_listener_; }
  /// Once, before the first request.
  void connect(Fleet& encode, Pool& serve);
  /// Every replica that encodes or computes prompts. `tensor`: ranks of its attention groups.
  void add(Replica& replica, int tensor);

  void submit(const Request& request, const RequestRecord& record) override;
  void cancel(RequestId id, RequestStatus status) override;
  void abandon() override;
  void on_awaiting_media(ReplicaId replica, RequestId request) override;
  void on_event(std::uint64_t tag) override;

  /// Of all that was sent of a medium.
  [[nodiscard]] Bytes sent(Medium medium) const { return sent_[static_cast<std::size_t>(medium)]; }

 private:
  enum class Side { encode, serve };
  class SideListener final : public RequestListener {
   public:
    SideListener(EncodeHandoff& handoff, Side side) : handoff_(handoff), side_(side) {}
    void on_first_token(RequestId id, Seconds seen) override {
      handoff_.client_.on_first_token(id, seen);
    }
    void on_request_ended(const RequestRecord& record) override {
      handoff_.on_ended(side_, record);
    }
    void on_request_lost(const RequestRecord& record) override { handoff_.on_lost(record); }

   private:
    EncodeHandoff& handoff_;
    Side side_;
  };

  struct Member {
    Replica* replica = nullptr;
    int tensor = 1;
  };
  struct Open {
    Request request;
    RequestRecord record;      // as it came
    std::uint32_t serial = 0;  // of attempts, so that an earlier one's transfers mean nothing
    bool is_encoded = false;
    ReplicaId from, to;
    int transfers_open = 0;
  };

  void on_ended(Side side, const RequestRecord& record);
  void on_lost(const RequestRecord& record);

  MediaBytes token_bytes_;
  Platform& platform_;
  RequestListener& client_;
  SideListener encode_listener_{*this, Side::encode}, serve_listener_{*this, Side::serve};
  Fleet* encode_ = nullptr;
  Pool* serve_ = nullptr;
  std::unordered_map<std::uint32_t, Member> members_;  // by replica; never walked
  std::unordered_map<std::uint32_t, Open> open_;       // with images, by id; never walked
  std::uint32_t serials_ = 0;
  MediaBytes sent_ = {};
};

}  // namespace foretoken

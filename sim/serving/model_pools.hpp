// Several models behind one gateway: each request goes to the pool that serves its model. Which
// replica of that pool gets it is the pool's own router's business.
#pragma once

#include <unordered_map>
#include <vector>

#include "sim/serving/pool.hpp"

namespace foretoken {

class ModelPools final : public Pool, public RequestListener {
 public:
  /// `client` is told of every request; it must outlive this.
  explicit ModelPools(RequestListener& client) : client_(client) {}
  /// The pool of the next model, which tells this of its requests and outlives it.
  void add(Pool& pool) { pools_.push_back(&pool); }

  void submit(const Request& request, const RequestRecord& record) override;
  void cancel(RequestId id, RequestStatus status) override;
  void abandon() override;

  void on_first_token(RequestId id, Seconds seen) override { client_.on_first_token(id, seen); }
  void on_request_ended(const RequestRecord& record) override;
  void on_request_lost(const RequestRecord& record) override;

 private:
  RequestListener& client_;
  std::vector<Pool*> pools_;                       // by Request::model
  std::unordered_map<std::uint32_t, Pool*> open_;  // by request; never walked
};

}  // namespace foretoken

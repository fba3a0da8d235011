#include "sim/serving/model_pools.hpp"

namespace foretoken {

void ModelPools::submit(const Request& request, const RequestRecord& record) {
  Pool* pool = pools_.at(static_cast<std::size_t>(request.model));
  open_.emplace(request.id.value, pool);
  pool->submit(request, record);
}

void ModelPools::cancel(RequestId id, RequestStatus status) {
  open_.at(id.value)->cancel(id, status);
}

void ModelPools::abandon() {
  for (Pool* pool : pools_) pool->abandon();
}

void ModelPools::on_request_ended(const RequestRecord& record) {
  open_.erase(record.id.value);
  client_.on_request_ended(record);
}

void ModelPools::on_request_lost(const RequestRecord& record) {
  open_.erase(record.id.value);
  client_.on_request_lost(record);
}

}  // namespace foretoken

// Several observers where one is asked for: `--steps` and `--trace` in one run.
#pragma once

#include <vector>

#include "sim/serving/step_observer.hpp"

namespace foretoken {

class ObserverGroup final : public StepObserver {
 public:
  /// `observer` must outlive the group.
  void add(StepObserver& observer) { observers_.push_back(&observer); }
  [[nodiscard]] bool empty() const { return observers_.empty(); }

  void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
               const Batch& batch) override {
    for (StepObserver* observer : observers_) {
      observer->on_step(replica, stage, start, duration, batch);
    }
  }
  void on_stage_step(const StageStep& step) override {
    for (StepObserver* observer : observers_) observer->on_stage_step(step);
  }
  void on_send(ReplicaId replica, int stage, Seconds start, Seconds end) override {
    for (StepObserver* observer : observers_) observer->on_send(replica, stage, start, end);
  }
  void on_kv_arrival(ReplicaId replica, Seconds now, const RequestRecord& record,
                     bool brings_token) override {
    for (StepObserver* observer : observers_) {
      observer->on_kv_arrival(replica, now, record, brings_token);
    }
  }
  void on_tokens(RequestId id, std::int64_t count, Seconds date) override {
    for (StepObserver* observer : observers_) observer->on_tokens(id, count, date);
  }
  void on_request_ended(const RequestRecord& record) override {
    for (StepObserver* observer : observers_) observer->on_request_ended(record);
  }

 private:
  std::vector<StepObserver*> observers_;
};

}  // namespace foretoken

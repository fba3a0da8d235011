#include "workloads/requests/one_model.hpp"

#include <unordered_map>
#include <utility>

namespace foretoken {
namespace {

/// Ids count what is left.
class OneModelSource final : public RequestSource {
 public:
  OneModelSource(std::unique_ptr<RequestSource> all, int model, bool is_whole)
      : all_(std::move(all)), model_(model), is_whole_(is_whole) {}

  std::optional<Request> next() override {
    return kept([this] { return all_->next(); });
  }
  std::optional<Request> next_follow_up() override {
    return kept([this] { return all_->next_follow_up(); });
  }
  void on_finished(RequestId id, Seconds now) override {
    all_->on_finished(all_ids_[id.value], now);
  }
  void on_given_up(RequestId id, Seconds now) override {
    all_->on_given_up(all_ids_[id.value], now);
  }
  std::optional<std::int64_t> expected() const override {
    return is_whole_ ? all_->expected() : std::nullopt;
  }
  std::int64_t skipped_lines() const override { return all_->skipped_lines(); }

 private:
  std::optional<Request> kept(const auto& next) {
    for (;;) {
      std::optional<Request> request = next();
      if (!request) return std::nullopt;
      if (request->model != model_) {
        all_->on_given_up(request->id, request->arrival);
        continue;
      }
      const RequestId id{static_cast<std::uint32_t>(all_ids_.size())};
      all_ids_.push_back(request->id);
      if (request->session) ids_.emplace(request->id.value, id);
      request->id = id;
      request->model = 0;
      if (request->after) request->after = ids_.at(request->after->value);
      return request;
    }
  }

  std::unique_ptr<RequestSource> all_;
  int model_;
  bool is_whole_;                                     // no other models are asked for
  std::vector<RequestId> all_ids_;                    // by id here
  std::unordered_map<std::uint32_t, RequestId> ids_;  // of those that others may follow
};

class OneModel final : public Workload {
 public:
  OneModel(std::shared_ptr<const Workload> all, int model) : all_(std::move(all)), model_(model) {}

  std::unique_ptr<RequestSource> start(const RandomStreams& random) const override {
    return std::make_unique<OneModelSource>(all_->start(random), model_, share() >= 1.0);
  }
  int prefix_block_tokens() const override { return all_->prefix_block_tokens(); }
  std::vector<Tenant> tenants() const override { return all_->tenants(); }
  std::vector<int> priorities() const override { return all_->priorities(); }
  double share() const override { return all_->share_of_model(model_); }
  std::int64_t adapters() const override { return all_->adapters(); }
  bool has(Medium medium) const override { return all_->has(medium); }
  Value resolved() const override { return all_->resolved(); }

 private:
  std::shared_ptr<const Workload> all_;
  int model_;
};

}  // namespace

std::shared_ptr<const Workload> requests_for(std::shared_ptr<const Workload> workload, int model) {
  return std::make_shared<OneModel>(std::move(workload), model);
}

}  // namespace foretoken

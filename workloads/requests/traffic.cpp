#include "workloads/requests/traffic.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

/// Transformed arrivals up to the limits.
class LimitedTimes {
 public:
  LimitedTimes(const Traffic& traffic, const RandomStreams& random)
      : times_(transformed(traffic.arrivals->start(random.stream("arrivals")), traffic.transform)),
        limits_(traffic.limits) {}

  std::optional<Arrival> next() {
    if (limits_.requests && sent_ >= *limits_.requests) return std::nullopt;
    const std::optional<Arrival> arrival = times_->next();
    if (!arrival || (limits_.duration && arrival->time >= *limits_.duration)) return std::nullopt;
    ++sent_;
    return arrival;
  }
  void on_finished(Seconds now) { times_->on_finished(now); }
  void on_given_up(Seconds now) { times_->on_given_up(now); }
  [[nodiscard]] std::int64_t sent() const { return sent_; }

 private:
  std::unique_ptr<ArrivalTimes> times_;
  TrafficLimits limits_;
  std::int64_t sent_ = 0;
};

class TrafficSource final : public RequestSource {
 public:
  TrafficSource(const Traffic& traffic, const RandomStreams& random)
      : traffic_(traffic),
        random_(random),
        times_(traffic, random),
        draws_(traffic, random),
        adapters_(traffic.adapters, random),
        media_(traffic.media, random) {}

  std::optional<Request> next() override { return next_request(); }

  std::optional<Request> next_follow_up() override {
    if (!traffic_.arrivals->overtakes()) return std::nullopt;
    return next_request();
  }

  void on_finished(RequestId, Seconds now) override { times_.on_finished(now); }
  void on_given_up(RequestId, Seconds now) override { times_.on_given_up(now); }

  std::optional<std::int64_t> expected() const override {
    const TrafficLimits& limits = traffic_.limits;
    const bool limited_by_time =
        limits.duration || traffic_.transform.window || traffic_.transform.part;
    if (!traffic_.arrivals->is_finite() && !limited_by_time) return limits.requests;
    if (traffic_.arrivals->waits_for_answers()) return std::nullopt;
    // The times depend on nothing but the seed, so they can be counted beforehand.
    LimitedTimes dry_run(traffic_, random_);
    while (dry_run.next()) continue;
    return dry_run.sent();
  }

  std::int64_t skipped_lines() const override {
    return traffic_.trace == nullptr ? 0 : traffic_.trace->skipped_lines();
  }

 private:
  std::optional<Request> next_request() {
    const auto number = static_cast<std::size_t>(times_.sent());
    const std::optional<Arrival> arrival = times_.next();
    if (!arrival) return std::nullopt;
    const std::size_t row = arrival->trace_row.value_or(number);
    Request request = draws_.next(row);
    request.id = RequestId{static_cast<std::uint32_t>(number)};
    request.arrival = arrival->time;
    give_adapter(adapters_.next(), request);
    media_.give(request);
    return request;
  }

  Traffic traffic_;
  RandomStreams random_;
  LimitedTimes times_;
  RequestDraws draws_;
  AdapterDraws adapters_;
  MediaDraws media_;
};

}  // namespace

RequestDraws::RequestDraws(const Traffic& traffic, const RandomStreams& random)
    : prompt_tokens_(traffic.prompt_tokens),
      output_tokens_(traffic.output_tokens),
      trace_(traffic.trace),
      prefix_block_tokens_(traffic.prefix_block_tokens),
      classes_(traffic.classes),
      prompt_random_(random.stream("prompt_tokens")),
      output_random_(random.stream("output_tokens")),
      class_random_(random.stream("priorities")),
      patience_(traffic.patience, random),
      trace_encoders_(traffic.trace_encoders) {}

void RequestDraws::begin_trajectory() {
  if (!classes_.are_priorities()) kept_ = classes_.sample(class_random_, 0);
}

Request RequestDraws::next(std::size_t row) {
  const RequestClass& its = kept_ ? *kept_ : classes_.sample(class_random_, row);
  const LengthDistribution& prompt = its.prompt_tokens ? *its.prompt_tokens : *prompt_tokens_;
  const LengthDistribution& output = its.output_tokens ? *its.output_tokens : *output_tokens_;
  Request request;
  request.prompt_tokens = prompt.sample(prompt_random_, row);
  request.output_tokens = output.sample(output_random_, row);
  request.priority = its.priority;
  request.tenant = its.tenant_number;
  request.tenant_weight = its.weight;
  request.model = its.model_number;
  patience_.give(request);
  if (prompt.uses_trace()) {
    request.prefix_hashes = trace_->prefix_hashes(row % trace_->size());
    request.prefix_block_tokens = prefix_block_tokens_;
    give_trace_media(row % trace_->size(), request);
  }
  return request;
}

/// Text stays as long as it was. Where an image or a clip becomes another number of tokens than it
/// did, nobody knows what the prompt shares from there on.
void RequestDraws::give_trace_media(std::size_t row, Request& request) const {
  std::int64_t moved = 0;
  std::optional<std::int64_t> first_other;
  for (const TraceItem& recorded : trace_->media(row)) {
    const auto& encoder = trace_encoders_[static_cast<std::size_t>(recorded.medium)];
    if (!encoder) continue;
    const MediaPatches patches = recorded.cut_by(*encoder);
    const std::uint64_t kind = recorded.medium == Medium::audio ? clip_identity : 0;
    request.media.push_back({recorded.id | kind, recorded.first_token + moved, patches});
    if (patches.tokens != recorded.tokens && !first_other) first_other = recorded.first_token;
    moved += patches.tokens - recorded.tokens;
  }
  request.prompt_tokens += moved;
  if (!first_other || prefix_block_tokens_ == 0) return;
  request.prefix_hashes.shorten(*first_other / prefix_block_tokens_);
}

bool Traffic::replays_trajectories() const {
  return trace != nullptr && !trace->trajectories().empty();
}

std::unique_ptr<RequestSource> start_requests(const Traffic& traffic, const RandomStreams& random) {
  return std::make_unique<TrafficSource>(traffic, random);
}

}  // namespace foretoken

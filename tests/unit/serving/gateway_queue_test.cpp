// Who waits at the gateway, who goes next and who is refused: by hand before full replicas, and
// against a list that is searched from end to end.

#include "sim/serving/gateway_queue.hpp"

#include <random>

#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken::gateway_queue_test {
namespace {

class GatewayQueueTest : public FleetTest {
 protected:
  Request& come(int priority, int tenant = 0) {
    Request& request = add(0, 50, 2);
    request.priority = priority;
    request.tenant = tenant;
    return request;
  }
  void expect_order(const std::vector<std::uint32_t>& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_NEAR(record(ids[i]).finished.value(), steps(2.0 * static_cast<double>(i + 1)), 1e-9)
          << "request " << ids[i];
    }
  }
  void expect_shed(std::uint32_t id) {
    EXPECT_EQ(record(id).status, RequestStatus::rejected) << id;
    EXPECT_EQ(record(id).reason, FailureReason::shed) << id;
  }
};

// One replica that holds one request, room for two. 0 runs; 1 and 2 wait; 3 is more urgent and
// takes the place of 2, the newest of the lowest class; 4 finds nobody below it.
TEST_F(GatewayQueueTest, TheLeastUrgentAreRefusedFirstAndTheMostUrgentGoFirst) {
  for (const int priority : {1, 1, 1, 0, 1}) come(priority);
  build(1, {.outstanding_max = 1}, {.attempts_max = 1, .queue_max = 2});
  run();
  expect_order({0, 3, 1});
  expect_shed(2);
  expect_shed(4);
}

TEST_F(GatewayQueueTest, AClassHasNoMoreRoomThanItsOwn) {
  for (const int priority : {0, 1, 1, 2, 0}) come(priority);
  build(1, {.outstanding_max = 1},
        {.attempts_max = 1, .queue_max = 9, .classes = {{1, 1}, {2, 0}}});
  run();
  expect_order({0, 4, 1});
  expect_shed(2);
  expect_shed(3);
}

TEST_F(GatewayQueueTest, TenantsTakeTurns) {
  for (const int tenant : {0, 0, 0, 1, 2, 1}) come(0, tenant);
  build(1, {.outstanding_max = 1},
        {.attempts_max = 1, .queue_max = 9, .queue_order = GatewayOrder::round_robin});
  run();
  expect_order({0, 1, 3, 4, 2, 5});
}

TEST_F(GatewayQueueTest, WhoGivesUpMakesRoom) {
  for (int i = 0; i < 3; ++i) come(0);
  source.requests[1].cancel_after = Seconds(steps(1));
  build(1, {.outstanding_max = 1}, {.attempts_max = 1, .queue_max = 2});
  run();
  expect_order({0, 2});
  EXPECT_EQ(record(1).status, RequestStatus::cancelled);
}

// Both replicas fail under the queue; what waits fails with them once nobody will repair them.
TEST_F(GatewayQueueTest, WhatWaitsFailsWithTheLastReplica) {
  for (int i = 0; i < 4; ++i) come(0);
  build(2, {.outstanding_max = 1}, {.attempts_max = 1, .queue_max = 9});
  at(0.5, [&] {
    for (const std::size_t i : {0U, 1U}) fleet->fail(i);
    for (const std::size_t i : {0U, 1U}) fleet->give_up(i);
  });
  run();
  EXPECT_EQ(record(3).status, RequestStatus::failed);
  EXPECT_EQ(record(3).reason, FailureReason::no_replica);
}

// Without a queue, those that waited for a replica to start are rejected beyond what it holds.
TEST_F(GatewayQueueTest, WithoutOneAStartedReplicaTakesWhatItMay) {
  for (int i = 0; i < 3; ++i) come(0);
  build(1, {.startup = Seconds(steps(5)), .outstanding_max = 2}, {.attempts_max = 1}, "round_robin",
        ReplicaState::starting);
  run();
  EXPECT_EQ(record(1).status, RequestStatus::completed);
  EXPECT_EQ(record(2).status, RequestStatus::rejected);
}

/// A list in order of arrival.
class PlainQueue {
 public:
  explicit PlainQueue(const FrontEndSettings& settings) : settings_(settings) {}

  /// The id that is refused, or -1.
  int push(int id, int priority, int tenant) {
    std::int64_t of_class = 0;
    for (const Waiting& one : all_) of_class += one.priority == priority ? 1 : 0;
    for (const QueueClass& limit : settings_.classes) {
      if (limit.priority == priority && of_class >= limit.queue_max) return id;
    }
    int refused = -1;
    if (std::ssize(all_) >= settings_.queue_max) {
      std::size_t worst = 0;
      for (std::size_t i = 1; i < all_.size(); ++i) {
        if (all_[i].priority >= all_[worst].priority) worst = i;
      }
      if (all_[worst].priority <= priority) return id;
      refused = all_[worst].id;
      erase(worst);
    }
    all_.push_back({id, priority, tenant});
    return refused;
  }

  int pop() {
    int urgent = all_.front().priority;
    for (const Waiting& one : all_) urgent = std::min(urgent, one.priority);
    int& last = last_[urgent];
    std::optional<std::size_t> chosen;
    const auto turn = [&](int tenant) { return tenant > last ? tenant : tenant + 1000; };
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].priority != urgent) continue;
      if (!chosen || (is_in_turn() && turn(all_[i].tenant) < turn(all_[*chosen].tenant)))
        chosen = i;
    }
    last = all_[*chosen].tenant;
    const int id = all_[*chosen].id;
    erase(*chosen);
    return id;
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  struct Waiting {
    int id, priority, tenant;
  };
  [[nodiscard]] bool is_in_turn() const {
    return settings_.queue_order == GatewayOrder::round_robin;
  }
  /// A class that nobody waits in begins its turns anew.
  void erase(std::size_t i) {
    const int priority = all_[i].priority;
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    if (std::ranges::find(all_, priority, &Waiting::priority) == all_.end()) last_.erase(priority);
  }

  FrontEndSettings settings_;
  std::vector<Waiting> all_;
  struct Last {
    int tenant = -1;
    operator int&() { return tenant; }
  };
  std::map<int, Last> last_;
};

TEST(GatewayQueue, AgreesWithAPlainList) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<int>(random() % most); };
    FrontEndSettings settings;
    settings.queue_max = 1 + draw(6);
    settings.queue_order = draw(2) == 0 ? GatewayOrder::fcfs : GatewayOrder::round_robin;
    if (draw(2) == 0) settings.classes = {{draw(3), draw(3)}};
    GatewayQueue queue(settings);
    PlainQueue plain(settings);
    for (int id = 0; id < 200; ++id) {
      GatewayQueue::Held held;
      held.request.id = RequestId{static_cast<std::uint32_t>(id)};
      held.request.priority = draw(3);
      held.request.tenant = draw(3);
      const int wanted = plain.push(id, held.request.priority, held.request.tenant);
      const auto refused = queue.push(held);
      ASSERT_EQ(refused ? static_cast<int>(refused->request.id.value) : -1, wanted)
          << "seed " << seed << " request " << id;
      for (int leaving = draw(3); leaving > 0 && !plain.empty(); --leaving) {
        ASSERT_EQ(static_cast<int>(queue.pop().request.id.value), plain.pop()) << "seed " << seed;
      }
      ASSERT_EQ(queue.empty(), plain.empty());
    }
  }
}

}  // namespace
}  // namespace foretoken::gateway_queue_test

// Time that keeps to another clock: never ahead of it, events come in meanwhile, flows end on time.
#include <gmock/gmock.h>

#include <cmath>

#include "platform_fixture.hpp"

namespace foretoken::testing {
namespace {

using ::testing::ElementsAre;
using Call = Recorder::Call;

/// Another clock: a quarter of a second later whenever it is asked.
class Metronome final : public Pacer {
 public:
  explicit Metronome(Platform& platform) : platform_(platform) {}

  Seconds hold(Seconds date, bool has_flows) override {
    EXPECT_LE(platform_.now(), clock);
    saw_flows = saw_flows || has_flows;
    saw_nothing_due = saw_nothing_due || std::isinf(date.value());
    clock += Seconds(0.25);
    if (then) then(clock.value());
    return std::min(date, clock);
  }

  Seconds clock;
  std::function<void(double)> then;
  bool saw_flows = false, saw_nothing_due = false;

 private:
  Platform& platform_;
};

TEST(Pacer, EventsKeepTheirDatesAndTimeWaitsForThem) {
  Platform platform(nvswitch_cluster(1));
  Metronome metronome(platform);
  platform.keep_to(metronome);
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t) { EXPECT_LE(platform.now(), metronome.clock); };
  platform.at(Seconds(1.1), recorder, 1);
  platform.at(Seconds(0.3), recorder, 2);
  metronome.then = [&](double date) {
    if (date == 0.5) platform.at(Seconds(0.5), recorder, 3);
    if (date == 3.0) platform.stop();
  };
  platform.run();
  EXPECT_THAT(recorder.calls, ElementsAre(Call{2, 0.3}, Call{3, 0.5}, Call{1, 1.1}));
  // Nothing was left from 1.1 on, and it went on until it was stopped.
  EXPECT_TRUE(metronome.saw_nothing_due);
  EXPECT_FALSE(metronome.saw_flows);
  EXPECT_EQ(metronome.clock, Seconds(3.0));
}

TEST(Pacer, AFlowEndsAtItsOwnDate) {
  ClusterSpec cluster = nvswitch_cluster(2);
  cluster.node.link_bandwidth = BytesPerSecond(100);  // 80 B/s
  Platform platform(cluster);
  Metronome metronome(platform);
  platform.keep_to(metronome);
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t) { EXPECT_LE(platform.now(), metronome.clock); };
  platform.send({0}, {1}, Bytes(96), recorder, 1);  // 1.2 s and 2 us
  metronome.then = [&](double date) {
    if (date == 0.75) platform.at(Seconds(0.75), recorder, 2);
    if (date == 2.0) platform.stop();
  };
  platform.run();
  ASSERT_EQ(recorder.calls.size(), 2U);
  EXPECT_EQ(recorder.calls[0], (Call{2, 0.75}));
  EXPECT_NEAR(recorder.date_of(1), 1.2 + 2 * micro, 1e-9);
  EXPECT_TRUE(metronome.saw_flows);
}

}  // namespace
}  // namespace foretoken::testing

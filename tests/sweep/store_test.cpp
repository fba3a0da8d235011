// Sweeps as processes that are really killed, stopped and set on one store together: no finished
// row is lost or changed, nothing is run twice, and what comes out is what one undisturbed sweep
// writes, byte for byte.
#include <csignal>
#include <random>

#include "tests/sweep/process_test.hpp"

namespace foretoken {
namespace {

class SweepStore : public ProcessTest {
 protected:
  /// 24 runs of some tens of milliseconds; one of the values cannot be. Leases outlast the test:
  /// whoever waits for one to end by itself does not come back.
  [[nodiscard]] std::vector<std::string> sweep(const std::string& store,
                                               const std::string& csv) const {
    return {FORETOKEN_PROGRAM,
            "sweep",
            FORETOKEN_SOURCE_DIR "/examples/quickstart.toml",
            "--vary",
            "workload.rate=4 /s,6 /s,8 /s",
            "--vary",
            "deployment.tensor_parallel=1,2",
            "--seeds",
            "4",
            "--set",
            "workload.requests=1500",
            "--jobs",
            "2",
            "--lease",
            "3600",
            "--store",
            path(store),
            "--csv",
            path(csv)};
  }
  static constexpr int runs = 24;
};

void expect_kept(const std::map<std::int64_t, std::string>& before,
                 const std::map<std::int64_t, std::string>& after) {
  for (const auto& [run, row] : before) {
    const auto found = after.find(run);
    ASSERT_NE(found, after.end()) << "run " << run << " was finished and is lost";
    EXPECT_EQ(found->second, row) << "run " << run << " was run again";
  }
}

TEST_F(SweepStore, KilledAtRandomMomentsLosesNoFinishedRow) {
  ASSERT_EQ(run_program(sweep("whole.sqlite", "whole.csv"), log()), 0) << text_of(log());
  std::mt19937 random(20260711);
  std::map<std::int64_t, std::string> before;
  int killed = 0;
  for (int round = 0; round < 20; ++round) {
    ProgramRun run(sweep("killed.sqlite", "killed.csv"), log());
    usleep(10'000 + random() % 300'000);
    run.signal(SIGKILL);
    killed += run.wait() == 128 + SIGKILL ? 1 : 0;
    const auto after = finished_rows(path("killed.sqlite"));
    expect_kept(before, after);
    if (std::filesystem::exists(path("killed.sqlite"))) {
      EXPECT_EQ(integrity(path("killed.sqlite")), "ok");
    }
    before = after;
  }
  EXPECT_GE(killed, 2) << "nothing was killed, so this proves nothing";
  ASSERT_EQ(run_program(sweep("killed.sqlite", "killed.csv"), log()), 0) << text_of(log());
  expect_kept(before, finished_rows(path("killed.sqlite")));
  EXPECT_EQ(text_of(path("killed.csv")), text_of(path("whole.csv")));
  EXPECT_EQ(finished_rows(path("killed.sqlite")).size(), std::size_t{runs});
}

TEST_F(SweepStore, CtrlCKeepsWhatIsFinishedAndSaysHowToGoOn) {
  ASSERT_EQ(run_program(sweep("whole.sqlite", "whole.csv"), log()), 0) << text_of(log());
  int status = 0;
  {
    ProgramRun run(sweep("stopped.sqlite", "stopped.csv"), path("message"));
    while (finished_rows(path("stopped.sqlite")).size() < 2 && !run.has_ended()) usleep(5'000);
    run.signal(SIGINT);
    status = run.wait();
  }
  const auto before = finished_rows(path("stopped.sqlite"));
  // A fast machine may have been through before.
  if (before.size() < std::size_t{runs}) {
    EXPECT_EQ(status, 130);
    EXPECT_NE(text_of(path("message")).find("Run the same command to continue"), std::string::npos)
        << text_of(path("message"));
  }
  ASSERT_EQ(run_program(sweep("stopped.sqlite", "stopped.csv"), log()), 0) << text_of(log());
  expect_kept(before, finished_rows(path("stopped.sqlite")));
  EXPECT_EQ(text_of(path("stopped.csv")), text_of(path("whole.csv")));
}

TEST_F(SweepStore, SeveralAtOnceShareTheWork) {
  ASSERT_EQ(run_program(sweep("whole.sqlite", "whole.csv"), log()), 0) << text_of(log());
  {
    ProgramRun a(sweep("shared.sqlite", "a.csv"), log()), b(sweep("shared.sqlite", "b.csv"), log()),
        c(sweep("shared.sqlite", "c.csv"), log());
    EXPECT_EQ(a.wait(), 0) << text_of(log());
    EXPECT_EQ(b.wait(), 0) << text_of(log());
    EXPECT_EQ(c.wait(), 0) << text_of(log());
  }
  EXPECT_EQ(attempts(path("shared.sqlite")), runs) << "something was run twice";
  EXPECT_EQ(integrity(path("shared.sqlite")), "ok");
  for (const char* csv : {"a.csv", "b.csv", "c.csv"})
    EXPECT_EQ(text_of(path(csv)), text_of(path("whole.csv"))) << csv;
}

}  // namespace
}  // namespace foretoken

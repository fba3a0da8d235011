// Sweeps over two ranks of one machine: the same bytes as one process writes, also when a rank is
// killed on the way, whether the job survives that or has to be started again.
#include "tests/sweep/mpi_job.hpp"
#include "tests/sweep/process_test.hpp"

namespace foretoken {
namespace {

class MpiSweep : public ProcessTest {
 protected:
  /// 64 runs, half of which cannot be; `requests` says how long the others take.
  [[nodiscard]] Words arguments(const std::string& name, int requests) const {
    return {"sweep",   FORETOKEN_SOURCE_DIR "/examples/quickstart.toml",
            "--vary",  "workload.rate=4 /s,8 /s,10 /s,12 /s",
            "--vary",  "deployment.tensor_parallel=1,2",
            "--seeds", "8",
            "--set",   "workload.requests=" + std::to_string(requests),
            "--store", path(name + ".sqlite"),
            "--csv",   path(name + ".csv"),
            "--json",  path(name + ".json")};
  }
  [[nodiscard]] Words alone(const std::string& name, int requests) const {
    return words_of({FORETOKEN_PROGRAM}, arguments(name, requests));
  }
  [[nodiscard]] Words on_two_ranks(const std::string& name, int requests,
                                   const Words& options = {}) const {
    return words_of(two_ranks(options), words_of(arguments(name, requests), {"--lease", "2"}));
  }
};

TEST_F(MpiSweep, GivesTheSameBytesAsOneProcess) {
  ASSERT_EQ(run_program(alone("whole", 100), log()), 0) << text_of(log());
  ASSERT_EQ(run_program(on_two_ranks("ranks", 100), log()), 0) << text_of(log());
  expect_same("ranks", "whole");
  EXPECT_EQ(attempts(path("ranks.sqlite")), 64);
}

TEST_F(MpiSweep, TellsMistakesOnceAndEnds) {
  Words words = on_two_ranks("wrong", 100);
  for (std::string& word : words) {
    if (word == "deployment.tensor_parallel=1,2") word = "deployment.tensor_paralel=1,2";
  }
  expect_told_once(words,
                   "foretoken: --vary deployment.tensor_paralel: unknown key 'tensor_paralel' in "
                   "[deployment]; did you mean 'tensor_parallel'?");
}

TEST_F(MpiSweep, OthersDoTheRunsOfAKilledRank) {
  ASSERT_EQ(run_program(alone("whole", 2000), log()), 0) << text_of(log());
  ProgramRun job(on_two_ranks("ranks", 2000, {"--enable-recovery"}), log());
  ASSERT_TRUE(kill_rank_1(job, path("ranks.sqlite"), 3)) << text_of(log());
  EXPECT_EQ(job.wait(), 0) << text_of(log());
  EXPECT_NE(text_of(log()).find("counts as dead; other ranks take over its runs"),
            std::string::npos)
      << text_of(log());
  expect_same("ranks", "whole");
}

TEST_F(MpiSweep, AJobKilledWithARankGoesOnWhenStartedAgain) {
  ASSERT_EQ(run_program(alone("whole", 2000), log()), 0) << text_of(log());
  ProgramRun job(on_two_ranks("ranks", 2000), log());
  ASSERT_TRUE(kill_rank_1(job, path("ranks.sqlite"), 3)) << text_of(log());
  EXPECT_NE(job.wait(), 0) << text_of(log());
  const auto before = finished_rows(path("ranks.sqlite"));
  EXPECT_GE(before.size(), 3U);
  EXPECT_LT(before.size(), 64U) << "the job was through before its rank was killed";
  ASSERT_EQ(run_program(on_two_ranks("ranks", 2000), log()), 0) << text_of(log());
  const auto after = finished_rows(path("ranks.sqlite"));
  for (const auto& [run, row] : before) EXPECT_EQ(after.at(run), row) << "run " << run;
  expect_same("ranks", "whole");
}

}  // namespace
}  // namespace foretoken

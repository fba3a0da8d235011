// Plans over two ranks of one machine: the same bytes as one process writes, also when a rank is
// killed on the way, and no run is made twice.
#include <algorithm>
#include <fstream>

#include "tests/sweep/mpi_job.hpp"
#include "tests/sweep/process_test.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

class MpiPlan : public ProcessTest {
 protected:
  [[nodiscard]] fs::path store(const std::string& name) const { return path(name + ".sqlite"); }
  [[nodiscard]] Words question(const std::string& name, int requests,
                               const Words& more = {}) const {
    return words_of({"plan", FORETOKEN_SOURCE_DIR "/examples/plan.toml", "--tp", "2,4", "--pp", "1",
                     "--quick", "--set", "workload.requests=" + std::to_string(requests), "--set",
                     "plan.replications=[2,2]", "--out", path(name), "--store", store(name)},
                    more);
  }
  [[nodiscard]] Words on_two_ranks(const Words& question, const Words& options = {}) const {
    return words_of(two_ranks(options), words_of(question, {"--lease", "2"}));
  }
  /// A foretoken that leaves a line in `starts` for every run it is started for.
  [[nodiscard]] fs::path counting_foretoken() const {
    const fs::path script = path("counting_foretoken");
    std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = outcome ] && echo run >> " << path("starts")
                          << "\nexec " FORETOKEN_PROGRAM " \"$@\"\n";
    fs::permissions(script, fs::perms::owner_all);
    return script;
  }
  [[nodiscard]] std::int64_t starts() const {
    const std::string text = text_of(path("starts"));
    return std::count(text.begin(), text.end(), '\n');
  }
};

TEST_F(MpiPlan, GivesTheSameBytesAsOneProcess) {
  const Words more = {"--gpus", "h200-sxm,b200-sxm"};
  ASSERT_EQ(run_program(words_of({FORETOKEN_PROGRAM}, question("whole", 100, more)), log()), 0)
      << text_of(log());
  ASSERT_EQ(run_program(words_of(on_two_ranks(question("ranks", 100, more)),
                                 {"--foretoken", counting_foretoken()}),
                        log()),
            0)
      << text_of(log());
  expect_same("ranks/plan", "whole/plan");
  EXPECT_EQ(starts(), finished_runs(store("whole")));
}

TEST_F(MpiPlan, GivesTheSameHighestLoad) {
  const Words more = {"--max-load", "--vary", "gpu.dram_bandwidth=+20%", "--set",
                      "plan.tolerance=0.1"};
  ASSERT_EQ(run_program(words_of({FORETOKEN_PROGRAM}, question("whole", 60, more)), log()), 0)
      << text_of(log());
  ASSERT_EQ(run_program(on_two_ranks(question("ranks", 60, more)), log()), 0) << text_of(log());
  expect_same("ranks/max_load", "whole/max_load");
}

TEST_F(MpiPlan, TellsMistakesOnceAndEnds) {
  expect_told_once(
      on_two_ranks(question("wrong", 60, {"--set", "engine.shceduler=sglang"})),
      "foretoken: --set engine.shceduler=sglang: unknown key 'shceduler' in [engine]; did you mean "
      "'scheduler'?");
}

TEST_F(MpiPlan, OthersDoTheRunsOfAKilledRank) {
  const Words more = {"--gpus", "h200-sxm,b200-sxm"};
  ASSERT_EQ(run_program(words_of({FORETOKEN_PROGRAM}, question("whole", 2000, more)), log()), 0)
      << text_of(log());
  ProgramRun job(on_two_ranks(question("ranks", 2000, more), {"--enable-recovery"}), log());
  ASSERT_TRUE(kill_rank_1(job, store("ranks"), 2)) << text_of(log());
  EXPECT_EQ(job.wait(), 0) << text_of(log());
  EXPECT_NE(text_of(log()).find("counts as dead; other ranks take over its runs"),
            std::string::npos)
      << text_of(log());
  expect_same("ranks/plan", "whole/plan");
}

TEST_F(MpiPlan, AJobKilledWithARankGoesOnWhenStartedAgain) {
  const Words more = {"--gpus", "h200-sxm,b200-sxm"};
  ASSERT_EQ(run_program(words_of({FORETOKEN_PROGRAM}, question("whole", 2000, more)), log()), 0)
      << text_of(log());
  const Words command =
      words_of(on_two_ranks(question("ranks", 2000, more)), {"--foretoken", counting_foretoken()});
  {
    ProgramRun job(command, log());
    ASSERT_TRUE(kill_rank_1(job, store("ranks"), 2)) << text_of(log());
    EXPECT_NE(job.wait(), 0) << text_of(log());
  }
  const std::int64_t before = finished_runs(store("ranks"));
  const std::int64_t all = finished_runs(store("whole"));
  EXPECT_GE(before, 2);
  EXPECT_LT(before, all) << "the job was through before its rank was killed";
  fs::remove(path("starts"));
  ASSERT_EQ(run_program(command, log()), 0) << text_of(log());
  EXPECT_EQ(starts(), all - before);
  expect_same("ranks/plan", "whole/plan");
}

}  // namespace
}  // namespace foretoken

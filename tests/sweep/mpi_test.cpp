// Sweeps over two ranks of one machine: the same bytes as one process writes, also when a rank is
// killed on the way, whether the job survives that or has to be started again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tests/sweep/foretoken_process.hpp"

namespace foretoken {
namespace {

using Words = std::vector<std::string>;

class MpiSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    // In a container everything is root, and there may be fewer processors than ranks.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
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
    return together({FORETOKEN_PROGRAM}, arguments(name, requests));
  }
  [[nodiscard]] Words on_two_ranks(const std::string& name, int requests,
                                   const Words& options = {}) const {
    Words words = {FORETOKEN_MPIRUN, "-n", "2", "--oversubscribe"};
    words = together(together(words, options), {FORETOKEN_MPI_PROGRAM});
    return together(together(words, arguments(name, requests)), {"--lease", "2"});
  }
  [[nodiscard]] std::filesystem::path log() const { return folder_ / "log"; }

  void expect_same(const std::string& name) const {
    for (const char* extension : {".csv", ".json"}) {
      const std::string text = text_of(path(name + extension));
      EXPECT_FALSE(text.empty());
      EXPECT_EQ(text, text_of(path(std::string("whole") + extension))) << name << extension;
    }
  }

 private:
  static Words together(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      (std::string("foretoken_mpi_sweep_") +
       ::testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()));
};

std::string environment_of(const std::string& process) {
  return text_of("/proc/" + process + "/environ");
}

/// The process that is rank 1 of the job that writes `store`; 0 while there is none.
pid_t rank_1_of(const std::filesystem::path& store) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string process = entry.path().filename();
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string command = text_of(entry.path() / "cmdline");
    if (command.find(FORETOKEN_MPI_PROGRAM) != 0) continue;  // neither mpirun nor a run
    if (command.find(store.string()) == std::string::npos) continue;
    if (environment_of(process).find("OMPI_COMM_WORLD_RANK=1") == std::string::npos) continue;
    return std::stoi(process);
  }
  return 0;
}

/// Waits until `rows` runs of the store are finished and kills rank 1; false: the job was faster.
bool kill_rank_1(const ProgramRun& job, const std::filesystem::path& store, std::size_t rows) {
  while (finished_rows(store).size() < rows) {
    if (job.has_ended()) return false;
    usleep(20'000);
  }
  const pid_t rank = rank_1_of(store);
  return rank > 0 && kill(rank, SIGKILL) == 0;
}

TEST_F(MpiSweep, GivesTheSameBytesAsOneProcess) {
  ASSERT_EQ(run_program(alone("whole", 100), log()), 0) << text_of(log());
  ASSERT_EQ(run_program(on_two_ranks("ranks", 100), log()), 0) << text_of(log());
  expect_same("ranks");
  EXPECT_EQ(attempts(path("ranks.sqlite")), 64);
}

TEST_F(MpiSweep, TellsMistakesOnceAndEnds) {
  Words words = on_two_ranks("wrong", 100);
  for (std::string& word : words) {
    if (word == "deployment.tensor_parallel=1,2") word = "deployment.tensor_paralel=1,2";
  }
  EXPECT_EQ(run_program(words, log()), 2);
  const std::string text = text_of(log());
  const std::string message =
      "foretoken: --vary deployment.tensor_paralel: unknown key 'tensor_paralel' in [deployment]; "
      "did you mean 'tensor_parallel'?";
  const auto first = text.find(message);
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(message, first + 1), std::string::npos) << text;
}

TEST_F(MpiSweep, OthersDoTheRunsOfAKilledRank) {
  ASSERT_EQ(run_program(alone("whole", 2000), log()), 0) << text_of(log());
  ProgramRun job(on_two_ranks("ranks", 2000, {"--enable-recovery"}), log());
  ASSERT_TRUE(kill_rank_1(job, path("ranks.sqlite"), 3)) << text_of(log());
  EXPECT_EQ(job.wait(), 0) << text_of(log());
  EXPECT_NE(text_of(log()).find("counts as dead; its runs are done by others"), std::string::npos)
      << text_of(log());
  expect_same("ranks");
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
  expect_same("ranks");
}

}  // namespace
}  // namespace foretoken

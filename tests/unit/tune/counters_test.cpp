// Hardware counters: out of Nsight Compute's own table (rows of an H100, columns that nobody asks
// for left out), through a stand-in for it that runs the device protocol, and what priors make of
// them.
#include "calibration/tune/counters.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "calibration/tune/device/kernel_counter.hpp"
#include "calibration/tune/prior_quality.hpp"
#include "calibration/tune/search.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/tune/suite_problem.hpp"

namespace foretoken::tune {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr std::string_view columns =
    R"("ID","Kernel Name","Block Size","dram__throughput.avg.pct_of_peak_sustained_elapsed",)"
    R"("gpu__time_duration.sum","l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",)"
    R"("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)"
    R"("l1tex__throughput.avg.pct_of_peak_sustained_active","launch__registers_per_thread",)"
    R"("lts__t_sector_hit_rate.pct","lts__throughput.avg.pct_of_peak_sustained_elapsed",)"
    R"("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",)"
    R"("sm__throughput.avg.pct_of_peak_sustained_elapsed",)"
    R"("sm__warps_active.avg.pct_of_peak_sustained_active")";
constexpr std::string_view units =
    R"("","","","%","ns","","","%","register/thread","%","%","%","%","%")";
constexpr std::string_view first =
    R"row("0","k","(256, 1, 1)","1.09","4,640","0","32,768","28.37","16","100.61","32.25","3.54","17.32","22.75")row";
constexpr std::string_view second =
    R"row("1","k","(256, 1, 1)","0.38","4,608","8,192","32,768","28.36","16","99.92","33.00","3.54","17.48","21.91")row";

std::string table_of(std::initializer_list<std::string_view> rows) {
  std::string text =
      "==WARNING== Note: Running with uncontrolled GPU caches.\n"
      "==PROF== Connected to process 590 (/usr/bin/foretoken-tune)\n";
  for (const std::string_view row : rows) text += std::string(row) + "\n";
  return text + "==PROF== Disconnected from process 590\n";
}

std::string written(const std::string& name, const std::string& text) {
  std::filesystem::create_directories(own_folder());
  const std::string path = own_folder() / name;
  std::ofstream(path) << text;
  return path;
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Counters, AreReadOutOfNsightComputesTable) {
  const std::string path = written("ncu.csv", table_of({columns, units, first, second}));
  const auto apart = read_counters(path, std::vector<int>{1, 1});
  ASSERT_EQ(apart.size(), 2U);
  const auto near = [](Profile wanted) { return Pointwise(DoubleNear(1e-9), wanted); };
  EXPECT_THAT(apart[0], near({17.32, 1.09, 32.25, 28.37, 22.75, 3.54, 100.61, 0, 16}));
  EXPECT_THAT(apart[1], near({17.48, 0.38, 33, 28.36, 21.91, 3.54, 99.92, 25, 16}));
  // Two launches of one candidate count by their time: (4640 * 17.32 + 4608 * 17.48) / 9248.
  const auto together = read_counters(path, std::vector<int>{2});
  EXPECT_THAT(together.at(0)[0], DoubleNear(17.39972, 1e-5));
  EXPECT_THAT(together.at(0)[7], DoubleNear(25 * 4608 / 9248.0, 1e-9));
}

TEST(Counters, SayWhatIsMissing) {
  const auto said = [&](const std::string& text, std::vector<int> launches) {
    const std::string path = written("bad.csv", text);
    return refusal([&] { (void)read_counters(path, launches); });
  };
  EXPECT_THAT(said(table_of({columns, units, first}), {1, 1}), HasSubstr("fewer rows than 2"));
  EXPECT_THAT(said(table_of({columns, units, first, second}), {1}), HasSubstr("more rows"));
  EXPECT_THAT(said("==ERROR== ERR_NVGPUCTRPERM\n", {1}), HasSubstr("ERR_NVGPUCTRPERM"));
  EXPECT_THAT(said(R"("ID","Kernel Name")"
                   "\n\"\",\"\"\n\"0\",\"k\"\n",
                   {1}),
              HasSubstr("gpu__time_duration.sum"));
  std::string not_a_number(first);
  not_a_number.replace(not_a_number.find("17.32"), 5, "n/a");
  EXPECT_THAT(said(table_of({columns, units, not_a_number}), {1}),
              HasSubstr("'n/a' is not a number"));
}

// The stand-in is started as ncu is: options, --log-file TABLE, then the command to count.
TEST(KernelCounter, StartsTheDeviceProcessUnderTheProfiler) {
  const std::string table = written("told.csv", table_of({columns, units, first, second}));
  const std::string device = written("device.sh",
                                     "while read line; do case \"$line\" in\n"
                                     "*prepare*) echo '{\"status\":\"ok\"}';;\n"
                                     "*count*) echo '{\"status\":\"ok\",\"launches\":1}';;\n"
                                     "esac; done\n");
  const std::string profiler = written("profiler.sh",
                                       "#!/bin/sh\nwhile [ \"$1\" != --log-file ]; do shift; done\n"
                                       "echo '==PROF== Connected'\nto=$2; shift 2\n\"$@\"\n"
                                       "cp " +
                                           table + " $to\n");
  std::filesystem::permissions(profiler, std::filesystem::perms::owner_all);
  const Problem problem = suite_problem("softmax");
  const KernelCounter counter({"sh", device}, profiler);
  const Candidate start = complete(problem, candidate_at(problem, start_state(problem)));
  const std::size_t shape = counted_shape(problem, h200());
  const auto profiles =
      counter.count(problem, shape, "reference.cubin", {{start, "a"}, {start, "b"}}, 132);
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[1][profile_dram], 0.38);

  const std::string refusing =
      written("refusing.sh",
              "while read line; do echo '{\"status\":\"fault\",\"detail\":\"bad\"}'; done\n");
  EXPECT_THAT(refusal([&] {
                (void)KernelCounter({"sh", refusing}, profiler)
                    .count(problem, shape, "r", {{start, "a"}}, 132);
              }),
              HasSubstr("cannot be counted"));
  EXPECT_THAT(refusal([&] {
                (void)KernelCounter({"sh", device}, "/nowhere/ncu")
                    .count(problem, shape, "r", {{start, "a"}}, 132);
              }),
              HasSubstr("is Nsight Compute (/nowhere/ncu) in PATH"));
}

TEST(CounterLog, KeepsWhatWasCounted) {
  const std::string path = own_folder() / "counters.csv";
  std::filesystem::create_directories(own_folder());
  std::filesystem::remove(path);
  const Problem problem = suite_problem("softmax");
  const Candidate start = candidate_at(problem, start_state(problem));
  Candidate outside = complete(problem, start);
  outside.state.clear();
  outside.source += "// mine\n";
  const Profile profile = {61.01, 39.43, 44.51, 33.5, 96.36, 0, 51.52, 0.3756, 23};
  {
    CounterLog log(path, true);
    EXPECT_EQ(log.find(problem, start), nullptr);
    log.add(problem, start, profile);
  }
  CounterLog log(path);
  log.add(problem, outside, Profile{1});
  const CounterLog again(path);
  ASSERT_NE(again.find(problem, start), nullptr);
  EXPECT_EQ(*again.find(problem, start), profile);
  ASSERT_NE(again.find(problem, outside), nullptr);
  EXPECT_EQ(again.find(problem, outside)->front(), 1);
  EXPECT_THAT(refusal([&] { CounterLog("counters.csv.gz", true).add(problem, start, profile); }),
              HasSubstr("gzip"));
  written("short.csv", "problem,parameters,identity,counters\nsoftmax,A=1,x,1 2 3\n");
  EXPECT_THAT(refusal([&] { CounterLog(own_folder() / "short.csv"); }),
              HasSubstr("counters must be 9 numbers"));
}

TEST(CountedEvaluator, GivesProfilesOfCountersAndKnowsNothingElse) {
  const std::string path = own_folder() / "counted.csv";
  std::filesystem::create_directories(own_folder());
  std::filesystem::remove(path);
  const Problem problem = suite_problem("softmax");
  const State start = start_state(problem);
  State other = start;
  other.front() = 0;
  CounterLog(path, true).add(problem, candidate_at(problem, start), Profile{7, 8, 9});
  const auto counted = make_counted(make_simulated(h200(), {}), path);
  EXPECT_TRUE(counted->knows(problem, start));
  EXPECT_FALSE(counted->knows(problem, other));
  Judge judge(problem, *counted);
  EXPECT_EQ(judge.judge(candidate_at(problem, start)).profile[profile_dram], 8);
  EXPECT_NE(judge.judge(candidate_at(problem, other)).profile[profile_dram], 8);
}

TEST(PriorQuality, AreaIsTheShareOfPairsInOrder) {
  EXPECT_EQ(area_under_curve({1, 2, 3, 4}, {false, false, true, true}), 1);
  EXPECT_EQ(area_under_curve({4, 3, 2, 1}, {false, false, true, true}), 0);
  EXPECT_EQ(area_under_curve({1, 1, 1, 1}, {false, true, false, true}), 0.5);
  EXPECT_EQ(area_under_curve({1, 3, 2}, {false, false, true}), 0.5);
  EXPECT_EQ(area_under_curve({1, 2}, {true, true}), 0.5);
}

// Strategies help where the first counter is low, and costs say nothing: heads that learned it on
// two kernels rank a third's attempts by it.
TEST(PriorQuality, TellsAProfileThatMattersFromOneThatDoesNot) {
  std::vector<KernelAttempts> kernels;
  for (const char* name : {"a", "b", "c"}) {
    KernelAttempts attempts{name, {}};
    for (int i = 0; i < 200; ++i) {
      const bool improved = i % 2 == 0;
      Profile counted{}, constant{};
      counted[0] = improved ? 0.1 : 0.9;
      constant[0] = 0.5;
      attempts.samples[0].push_back({Profile{}, Strategy::tiling, improved});
      attempts.samples[1].push_back({constant, Strategy::tiling, improved});
      attempts.samples[2].push_back({counted, Strategy::tiling, improved});
    }
    kernels.push_back(std::move(attempts));
  }
  for (const PriorQuality& quality : prior_quality(kernels, 5)) {
    EXPECT_EQ(quality.attempts, 200);
    EXPECT_EQ(quality.successes, 0.5);
    EXPECT_THAT(quality.all, ElementsAre(0.5, 0.5, 1));
    EXPECT_THAT(quality.within, ElementsAre(0.5, 0.5, 1));
  }
}

}  // namespace
}  // namespace foretoken::tune

// Whatever a child process does (hang, crash, nonsense, silence) costs one answer and no more. The
// device here is a shell script that follows the protocol of device_loop.hpp.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "calibration/tune/child_process.hpp"
#include "calibration/tune/device/device_client.hpp"
#include "calibration/tune/search.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::tune {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Outcome = ChildProcess::Outcome;

ChildProcess shell(const std::string& script) { return ChildProcess({"sh", "-c", script}); }

TEST(ChildProcess, AnswersLineByLine) {
  ChildProcess child = shell("while read line; do echo \"got $line\"; done");
  EXPECT_EQ(child.ask("one", 5s).text, "got one");
  EXPECT_EQ(child.ask("two", 5s).text, "got two");
}

TEST(ChildProcess, TellsHangsFromEnds) {
  ChildProcess hanging = shell("sleep 60");
  EXPECT_EQ(hanging.ask("", 50ms).outcome, Outcome::timeout);
  EXPECT_EQ(hanging.end(), "signal 9");
  ChildProcess ending = shell("read line; exit 3");
  EXPECT_EQ(ending.ask("", 5s).outcome, Outcome::ended);
  ChildProcess faulting = shell("read line; kill -SEGV $$");
  EXPECT_EQ(faulting.ask("", 5s).outcome, Outcome::ended);
  ChildProcess absent({"/nowhere/at/all"});
  EXPECT_EQ(absent.ask("", 5s).outcome, Outcome::ended);
}

TEST(ChildProcess, TakesWithItWhatItStarted) {
  const std::filesystem::path mark = own_folder() / "orphan";
  std::filesystem::remove(mark);
  {
    ChildProcess child =
        shell("(sleep 1; touch " + mark.string() + ") & read line; echo ready; sleep 60");
    EXPECT_EQ(child.ask("", 5s).text, "ready");
  }
  std::this_thread::sleep_for(1500ms);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(ChildProcess, CollectsAllItWritesAndHowItEnded) {
  EXPECT_EQ(shell("cat; echo more").finish("text\n", 5s).text, "text\nmore\n");
  EXPECT_EQ(shell("cat; exit 1").finish("text", 5s).outcome, Outcome::ended);
  EXPECT_EQ(shell("cat >/dev/null; sleep 60").finish("text", 100ms).outcome, Outcome::timeout);
  const std::string large(3U << 20U, 'x');
  EXPECT_EQ(shell("cat").finish(large, 20s).text.size(), large.size());
}

/// What the fake device does with a source that holds the word.
constexpr const char* device = R"(
while read -r line; do
  case $line in
    *hello*) echo '{"status":"ok","gpu":"none","sms":4,"architecture":"sm_0"}';;
    *'"op":"compile"'*)
      case $line in
        *UNCOMPILABLE*) echo '{"status":"compile_error","detail":"line 3: no"}';;
        *) case $line in *HANGS*) w=hang;; *CRASHES*) w=crash;; *FAULTS*) w=fault;; *WRONG*) w=wrong;;
             *NONSENSE*) w=nonsense;; *REFUSED*) w=refused;; *) w=fine;; esac
           to=${line##*\"to\":\"}; printf $w > "${to%%\"*}"; echo '{"status":"ok"}';;
      esac;;
    *'"op":"prepare"'*) prepared=yes; echo '{"status":"ok"}';;
    *'"op":"evaluate"'*)
      [ "$prepared" = yes ] || { echo '{"status":"error","detail":"not prepared"}'; continue; }
      at=${line##*\"cubin\":\"}
      case $(cat "${at%%\"*}") in
        hang) sleep 60;;
        crash) exit 9;;
        fault) echo '{"status":"fault","detail":"illegal address"}'; exit 0;;
        wrong) echo '{"status":"wrong","detail":"shape 0: 7 of 16 elements of output 1 are off"}';;
        nonsense) echo 'printf from a kernel';;
        refused) echo '{"status":"launch_failure","detail":"too many threads"}';;
        fine) echo '{"status":"ok","seconds":[1e-5,2e-5],"kernels":[{"registers":32,"shared":0,"local":0,"threads":128,"blocks_per_sm":8,"blocks":64}]}';;
      esac;;
  esac
done)";

constexpr std::string_view header = R"(//! summary = "twice x"
//! dims = ["n"]
//! shapes = [[16], [64]]
//! tolerance = 0.0
//! parameters = [{name = "KIND", strategy = "tiling", values = [0, 1], start = 0}]
//! buffers = [{name = "y", type = "f32", count = "n", role = "output"}]
//! launches = [{kernel = "f", grid = ["n / 16"], block = ["16"], arguments = ["y", "n"]}]
//! reference = [{kernel = "f", grid = ["1"], block = ["64"], arguments = ["y", "n"]}]
//! cost = {flops = "n", bytes = "8 * n", cache_bytes = "8 * n"}
)";

class Device : public testing::Test {
 protected:
  Device()
      : folder_((own_folder() / "device").string()),
        problem_(parse_problem(header, "twice", "twice.cu")),
        client_({"bash", "-c", device}, {5s, 5s, 300ms}) {
    std::filesystem::create_directories(folder_);
  }
  ~Device() override { std::filesystem::remove_all(folder_); }

  Evaluation judge(const std::string& source) {
    const std::string cubin = folder_ + "/kernel", reference = folder_ + "/reference";
    Evaluation evaluation = client_.compile(source, "sm_0", cubin);
    if (evaluation.status != Status::ok) return evaluation;
    Candidate candidate = candidate_at(problem_, {0});
    return client_.evaluate(problem_, reference, candidate, cubin, 4);
  }

  std::string folder_;
  Problem problem_;
  DeviceClient client_;
};

TEST_F(Device, SurvivesEveryPlantedKernelAndJudgesTheNext) {
  const std::vector<std::pair<std::string, Status>> planted{{"UNCOMPILABLE", Status::compile_error},
                                                            {"HANGS", Status::timeout},
                                                            {"CRASHES", Status::crash},
                                                            {"FAULTS", Status::fault},
                                                            {"WRONG", Status::wrong},
                                                            {"NONSENSE", Status::crash},
                                                            {"REFUSED", Status::launch_failure}};
  for (const auto& [source, status] : planted) {
    const Evaluation evaluation = judge(source);
    EXPECT_EQ(name_of(evaluation.status), name_of(status)) << source << ": " << evaluation.detail;
    EXPECT_FALSE(evaluation.detail.empty()) << source;
    EXPECT_TRUE(evaluation.seconds.empty()) << source;
    const Evaluation next = judge("a good one");
    EXPECT_EQ(name_of(next.status), "ok") << "after " << source << ": " << next.detail;
    EXPECT_EQ(next.seconds, (std::vector<double>{1e-5, 2e-5}));
    EXPECT_EQ(next.kernels.at(0).registers, 32);
  }
}

TEST_F(Device, RefusesLaunchesThatAreNoWholeNumbers) {
  Candidate candidate = candidate_at(problem_, {0});
  candidate.launches[0].grid = {"n / 3"};
  const Evaluation evaluation = client_.evaluate(problem_, "", candidate, "", 4);
  EXPECT_EQ(evaluation.status, Status::launch_failure);
  EXPECT_THAT(evaluation.detail, HasSubstr("no whole number"));
}

TEST(DeviceClient, SaysWhatIsMissingWhereThereIsNoGpu) {
  DeviceClient client(
      {"bash", "-c", "read line; echo '{\"status\":\"error\",\"detail\":\"no driver\"}'"});
  try {
    client.hello();
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no GPU to evaluate kernels on: no driver"));
  }
}

class Command : public testing::Test {
 protected:
  Command() : problem_(parse_problem(header, "twice", "twice.cu")) {
    parent_.candidate = candidate_at(problem_, {0});
    parent_.time = 0.5;
  }
  Rewrite run(const std::string& command) {
    return make_command_rewriter(problem_, command, 1000ms)->rewrite(parent_, Strategy::fusion);
  }
  Problem problem_;
  PoolEntry parent_;
};

TEST_F(Command, TakesPlainSourceOrJson) {
  const Rewrite plain = run("echo '#define KIND 5'; echo '__global__ void f() {}'");
  ASSERT_TRUE(plain.candidate);
  EXPECT_EQ(plain.candidate->constants.at("KIND"), 5);
  EXPECT_EQ(plain.candidate->launches.size(), 1U) << "the parent's launches stay";
  const Rewrite json = run(
      R"(echo '{"source": "void f();", "launches": [{"kernel": "g", "grid": ["1"], "block": ["32"], "arguments": []}]}')");
  ASSERT_TRUE(json.candidate);
  EXPECT_EQ(json.candidate->source, "void f();");
  EXPECT_EQ(json.candidate->launches.at(0).kernel, "g");
}

TEST_F(Command, IsToldWhatItNeedsToKnow) {
  const Rewrite echoed = run("sed 's/\\\\n/ /g; s/\\\\\"/ /g; s/^/seen: /'");
  ASSERT_TRUE(echoed.candidate);
  for (const char* word : {"\"strategy\":\"fusion\"", "\"problem\":\"twice\"", "\"speedup\":2",
                           "\"profile\":[", "\"KIND\":0", "\"launches\":[", "\"source\":"}) {
    EXPECT_THAT(echoed.candidate->source, HasSubstr(word));
  }
}

TEST_F(Command, FailsWithoutHarm) {
  const std::vector<std::pair<std::string, Status>> bad{
      {"sleep 30", Status::timeout},
      {"exit 3", Status::crash},
      {"kill -SEGV $$", Status::crash},
      {"/nowhere/at/all", Status::crash},
      {"true", Status::malformed},
      {"echo '{\"source\": 7}'", Status::malformed},
      {"echo '{\"source\": \"a\", \"launches\": [{\"kernel\": \"f\"}]}'", Status::malformed},
      {"echo '{cut off'", Status::malformed}};
  for (const auto& [command, status] : bad) {
    const Rewrite rewrite = run(command);
    EXPECT_FALSE(rewrite.candidate) << command;
    EXPECT_EQ(name_of(rewrite.failure.status), name_of(status))
        << command << ": " << rewrite.failure.detail;
  }
}

}  // namespace
}  // namespace foretoken::tune

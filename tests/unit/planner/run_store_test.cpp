// The store of a sweep's runs: who gets which, what happens to leases, what is refused. Time is
// made up here, so that leases end without waiting.

#include "sim/planner/run_store.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/base/json.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<RunRequest> four = {
    {{{"a.x", 1}}}, {{{"a.x", 2}}}, {{{"a.x", 3}}}, {{{"a.x", 4}}}};

class RunStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] RunOwner owner(const std::string& name, const std::string& host = "here") {
    return {name, host, 60, [this] { return now_; },
            [this](const std::string& other) { return gone_.contains(other); }};
  }
  [[nodiscard]] RunStore open(const std::string& name, const std::string& host = "here",
                              const std::vector<RunRequest>& requests = four) {
    RunStore store(path(), "one");
    store.want(requests, owner(name, host));
    return store;
  }
  [[nodiscard]] std::string error_of(const std::string& host = "here") {
    try {
      (void)open("z", host);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "runs.sqlite"; }

  double now_ = 1000;
  std::set<std::string> gone_;

 private:
  std::filesystem::path folder_ = own_folder() / "runs";
};

/// A run of so many tokens a second.
RunOutcome ran(int tokens) {
  RunOutcome outcome;
  outcome.report.throughput.output_tokens_per_s = tokens;
  return outcome;
}
std::string text_of(const RunOutcome& outcome) {
  if (outcome.status != RunStatus::ran) return outcome.message;
  return fmt::format("{} tokens/s", outcome.report.throughput.output_tokens_per_s);
}

TEST_F(RunStoreTest, HandsOutEachRunOnceInTheOrderOfThePlan) {
  RunStore a = open("a"), b = open("b");
  EXPECT_THAT(a.take(2), ElementsAre(0, 1));
  EXPECT_THAT(b.take(1), ElementsAre(2));
  EXPECT_THAT(a.take(5), ElementsAre(3));
  EXPECT_THAT(b.take(5), IsEmpty());
  EXPECT_EQ(a.counts().leased, 4U);
  EXPECT_EQ(a.counts().finished, 0U);
  EXPECT_EQ(a.counts().wanted, 4U);
}

TEST_F(RunStoreTest, KeepsFinishedRowsAcrossOpeningsInTheOrderOfThePlan) {
  {
    RunStore store = open("a");
    EXPECT_THAT(store.take(3), ElementsAre(0, 1, 2));
    EXPECT_TRUE(store.finish(2, {RunStatus::failed, "killed", {}}, 0.5));
    EXPECT_TRUE(store.finish(1, {RunStatus::infeasible, "too large", {}}, 0.5));
    EXPECT_TRUE(store.finish(0, ran(7), 0.5));
  }
  RunStore store = open("b");
  std::vector<std::string> rows;
  store.each_finished([&](std::size_t run, const RunOutcome& outcome) {
    rows.push_back(fmt::format("{} {} {}", run, enum_name(outcome.status), text_of(outcome)));
  });
  EXPECT_THAT(rows, ElementsAre("0 ran 7 tokens/s", "1 infeasible too large", "2 failed killed"));
  EXPECT_THAT(store.take(9), ElementsAre(3));
}

TEST_F(RunStoreTest, ALeaseEndsAtItsDeadlineUnlessRenewed) {
  RunStore a = open("a"), b = open("b");
  EXPECT_THAT(a.take(4), ElementsAre(0, 1, 2, 3));
  now_ += 59;
  EXPECT_THAT(b.take(4), IsEmpty());
  a.renew();
  now_ += 59;
  EXPECT_THAT(b.take(4), IsEmpty());
  now_ += 1;
  EXPECT_THAT(b.take(2), ElementsAre(0, 1));
  a.renew();  // of what it still has
  now_ += 59;
  EXPECT_THAT(b.take(4), IsEmpty());
}

TEST_F(RunStoreTest, WhoComesBackLateChangesNothing) {
  RunStore a = open("a"), b = open("b");
  EXPECT_THAT(a.take(1), ElementsAre(0));
  now_ += 61;
  EXPECT_THAT(b.take(1), ElementsAre(0));
  EXPECT_TRUE(b.finish(0, ran(1), 1));
  EXPECT_FALSE(a.finish(0, ran(2), 1));
  a.each_finished(
      [](std::size_t, const RunOutcome& outcome) { EXPECT_EQ(text_of(outcome), "1 tokens/s"); });
}

TEST_F(RunStoreTest, TheLeasesOfAKnownDeadEndAtOnce) {
  RunStore a = open("a"), b = open("b");
  EXPECT_THAT(a.take(3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(a.finish(1, ran(1), 1));
  gone_.insert("a");
  EXPECT_THAT(b.take(9), ElementsAre(0, 2, 3));
}

TEST_F(RunStoreTest, WhoStopsGivesItsRunsBack) {
  RunStore a = open("a"), b = open("b");
  EXPECT_THAT(a.take(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(b.take(1), ElementsAre(3));
  a.release();
  EXPECT_THAT(b.take(9), ElementsAre(0, 1, 2));
}

TEST_F(RunStoreTest, FailedRunsCanBeRunAgainAndOthersNot) {
  RunStore store = open("a");
  (void)store.take(4);
  EXPECT_TRUE(store.finish(0, ran(1), 1));
  EXPECT_TRUE(store.finish(1, {RunStatus::failed, "killed", {}}, 1));
  EXPECT_TRUE(store.finish(2, {RunStatus::infeasible, "too large", {}}, 1));
  EXPECT_EQ(store.forget_failures(), 1U);
  EXPECT_EQ(store.counts().finished, 2U);
  EXPECT_THAT(store.take(4), ElementsAre(1));
}

TEST_F(RunStoreTest, AnotherListTakesWhatItShares) {
  {
    RunStore store = open("a");
    (void)store.take(4);
    for (const int run : {0, 1, 2, 3})
      EXPECT_TRUE(store.finish(static_cast<std::size_t>(run), ran(run), 1));
  }
  RunStore more = open("b", "here", {{{{"a.x", 9}}}, {{{"a.x", 3}}}});
  EXPECT_EQ(more.counts().wanted, 2U);
  EXPECT_EQ(more.counts().finished, 1U);
  EXPECT_THAT(more.take(9), ElementsAre(0));
  more.each_finished([](std::size_t run, const RunOutcome& outcome) {
    EXPECT_EQ(run, 1U);
    EXPECT_EQ(text_of(outcome), "2 tokens/s");
  });
  RunStore other(path(), "another scenario");
  EXPECT_FALSE(other.find(four[0]).has_value());
  EXPECT_TRUE(RunStore(path(), "one").find(four[0]).has_value());
}

TEST_F(RunStoreTest, OlderStoresAreRefusedByTheirVersion) {
  for (const char* application : {"0x46544b53", "0x46544b4f"}) {
    std::filesystem::remove(path());
    {
      Database old(path());
      old.execute(std::string("PRAGMA application_id = ") + application);
      old.execute("PRAGMA user_version = 2");
      old.execute("CREATE TABLE run (number INTEGER)");
    }
    EXPECT_THAT(error_of(), HasSubstr("was written by another version of Foretoken; choose another "
                                      "file with --store, or remove it to start over"));
  }
}

TEST_F(RunStoreTest, RefusesAStoreThatAnotherMachineIsAt) {
  RunStore a = open("a", "there");
  (void)a.take(1);
  EXPECT_THAT(error_of(), HasSubstr("is in use on there; only one machine can use"));
  now_ += 60;  // its lease has ended
  EXPECT_EQ(error_of(), "no error");
}

TEST_F(RunStoreTest, RefusesFilesThatAreNone) {
  std::ofstream(path()) << "run,workload.rate,status\n0,4 /s,ran\n and more text than a header\n";
  EXPECT_THAT(error_of(), HasSubstr("is not an SQLite file"));
  std::filesystem::remove(path());
  Database(path()).execute("CREATE TABLE photos (id INTEGER)");
  EXPECT_THAT(error_of(), HasSubstr("is an SQLite file of another program"));
}

/// Every byte in turn is another one: the store is refused as what it is, or says the same as
/// before.
TEST_F(RunStoreTest, ADamagedFileIsRefusedOrSaysTheSame) {
  const auto rows_of = [](RunStore& store) {
    std::string rows;
    store.each_finished([&](std::size_t run, const RunOutcome& outcome) {
      rows += fmt::format("{} {} {}\n", run, enum_name(outcome.status), text_of(outcome));
    });
    return rows;
  };
  std::string before;
  {
    RunStore store = open("a");
    (void)store.take(3);
    EXPECT_TRUE(store.finish(0, ran(123456789), 0.5));
    EXPECT_TRUE(store.finish(1, {RunStatus::infeasible, "too large", {}}, 0.5));
    before = rows_of(store);
  }
  std::ifstream file(path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  int refused = 0;
  const auto damage = [&](std::size_t at, char byte) {
    std::string text = whole;
    text[at] = byte;
    for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(path().string() + end);
    std::ofstream(path(), std::ios::binary) << text;
    try {
      RunStore store = open("b");
      EXPECT_EQ(rows_of(store), before) << "byte " << at;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("runs.sqlite: "));
      ++refused;
    }
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    // All of what holds something; pages are filled up with zeros.
    if (whole[at] != 0 ? at % 7 == 0 : at % 197 == 0) damage(at, static_cast<char>(whole[at] ^ 1));
  }
  const std::size_t digit = whole.find("123456789");
  ASSERT_NE(digit, std::string::npos);
  const int so_far = refused;
  damage(digit, '7');
  EXPECT_EQ(refused, so_far + 1) << "another figure was taken";
  EXPECT_GT(refused, 100);
}

TEST_F(RunStoreTest, IsReadWithoutBeingWritten) {
  {
    RunStore store = open("a");
    EXPECT_THAT(store.take(1), ElementsAre(0));
    EXPECT_TRUE(store.finish(0, ran(10), 1.0));
  }
  const auto before = std::filesystem::last_write_time(path());
  RunStore store(RunStore::ReadOnly(), path(), "one");
  store.look_for({four[1], four[0], {{{"a.x", 9}}}});
  std::vector<std::size_t> places;
  store.each_finished([&](std::size_t run, const RunOutcome&) { places.push_back(run); });
  EXPECT_THAT(places, ElementsAre(1));
  EXPECT_EQ(std::filesystem::last_write_time(path()), before);
}

TEST_F(RunStoreTest, HasAViewForPeople) {
  RunStore store = open("a");
  (void)store.take(1);
  RunOutcome slow;
  slow.report.ttft_ms.p99 = 12.5;
  EXPECT_TRUE(store.finish(0, slow, 1));
  Database database(path());
  auto row = database.prepare("SELECT state, ttft_p99_ms FROM result WHERE number = 1");
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.text(0), "ran");
  EXPECT_DOUBLE_EQ(row.real(1), 12.5);
}

}  // namespace
}  // namespace foretoken

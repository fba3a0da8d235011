// Files appear whole or not at all, several together or none, and never where something is read.
#include "sim/base/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "sim/base/error.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = own_folder() / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  fs::path file(const std::string& name, const std::string& text = "") const {
    if (!text.empty()) std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(OutputFiles, StandBesideUntilTheyAreWhole) {
  const fs::path path = file("a", "old");
  OutputFile output(path);
  output.write("new");
  output.finish();
  EXPECT_EQ(text_of(path), "old");
  output.publish();
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(count(), 1U);
}

TEST_F(OutputFiles, LeaveNothingIfTheyAreGivenUp) {
  const fs::path path = file("a", "old");
  { OutputFile(path).write("new"); }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(count(), 1U);
}

TEST_F(OutputFiles, KeepLinksAndPermissions) {
  const fs::path path = file("a", "old"), link = folder_ / "link";
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", link);
  write_file(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFiles, TakeAwayWhatAKilledRunLeftAndNothingOfTheLiving) {
  file(".foretoken-1-0.part", "of a killed one");
  OutputFile living(file("a"));
  EXPECT_EQ(count(), 1U);
  OutputFile other(file("b"));
  EXPECT_EQ(count(), 2U);
  living.write("a");
  living.finish();
  living.publish();
  EXPECT_EQ(text_of(file("a")), "a");
}

TEST_F(OutputFiles, GoToADeviceDirectly) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFiles, TellThatTheDiskIsFull) {
  EXPECT_THAT([] { write_file("/dev/full", "text"); },
              ThrowsMessage<WriteError>(HasSubstr(
                  "/dev/full: could not be written completely: No space left on device")));
}

TEST_F(OutputFiles, RefuseBeforehandWhereNobodyMayWrite) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  Outputs outputs;
  EXPECT_THROW(outputs.expect(folder_ / "a"), ConfigError);
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(OutputFiles, OfASetAppearTogetherOrNotAtAll) {
  file("a", "old a");
  file("b", "old b");
  {
    Outputs outputs;
    outputs.write(file("a"), "new a");
    outputs.write("/dev/full", "too much");
    outputs.write(file("b"), "new b");
    EXPECT_THROW(outputs.publish(), WriteError);
  }
  EXPECT_EQ(text_of(file("a")), "old a");
  EXPECT_EQ(text_of(file("b")), "old b");
  Outputs outputs;
  outputs.write(file("a"), "new a");
  outputs.write(file("b"), "new b");
  outputs.publish();
  EXPECT_EQ(text_of(file("a")) + text_of(file("b")), "new anew b");
  EXPECT_EQ(count(), 2U);
}

TEST_F(OutputFiles, AreNoInputs) {
  const fs::path input = file("scenario.toml", "x");
  fs::create_symlink("scenario.toml", folder_ / "link");
  fs::create_hard_link(input, folder_ / "hard");
  Outputs outputs({"", input});
  const auto refuses = [&](const fs::path& path) {
    EXPECT_THAT([&] { outputs.expect(path); },
                ThrowsMessage<ConfigError>(HasSubstr("is an input of this command")));
  };
  refuses(input);
  refuses(folder_ / "." / "scenario.toml");
  refuses(folder_ / "link");
  refuses(folder_ / "hard");
  EXPECT_THAT(
      [&] {
        outputs.expect_in(folder_, {"report.json", "scenario.toml"});
      },
      ThrowsMessage<ConfigError>(HasSubstr("name another file or folder")));
}

TEST_F(OutputFiles, AreNamedOnce) {
  Outputs outputs;
  outputs.expect_in(folder_ / "new" / "folder", {"report.json"});
  outputs.expect(folder_ / "new" / "folder" / "page.html");
  EXPECT_THAT([&] { outputs.expect(folder_ / "new" / "folder" / "report.json"); },
              ThrowsMessage<ConfigError>(HasSubstr("would be written twice; name two files")));
}

TEST_F(OutputFiles, NeedAFolder) {
  Outputs outputs;
  EXPECT_THAT([&] { outputs.expect(folder_ / "nowhere" / "a"); },
              ThrowsMessage<ConfigError>(HasSubstr("its folder does not exist; create it first")));
  EXPECT_THAT([&] { outputs.expect(folder_); },
              ThrowsMessage<ConfigError>(HasSubstr("is a folder; name a file")));
  EXPECT_THAT([&] { outputs.expect_in(file("a", "x"), {"report.json"}); },
              ThrowsMessage<ConfigError>(HasSubstr("cannot create this folder")));
}

}  // namespace
}  // namespace foretoken

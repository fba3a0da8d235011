#include "sim/base/program_failure.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "sim/base/error.hpp"
#include "sim/base/interrupted.hpp"

namespace foretoken {
namespace {

ProgramFailure failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (...) {
    return current_program_failure();
  }
  return {};
}

TEST(ProgramFailure, TellsMistakesFromBugsAndTheRest) {
  const ProgramFailure mistake = failure_of([] { throw ConfigError({"a.toml", 3}, "is wrong"); });
  EXPECT_EQ(mistake.status, 2);
  EXPECT_EQ(mistake.message, "a.toml:3: is wrong");
  const ProgramFailure price = failure_of([] { throw PredictionError("no fp4 on this GPU"); });
  EXPECT_EQ(price.status, 2);
  EXPECT_EQ(price.message, "cannot price this: no fp4 on this GPU");
  EXPECT_EQ(failure_of([] { FORETOKEN_CHECK(false, "x"); }).status, 3);
  EXPECT_EQ(failure_of([] { (void)std::string().at(1); }).status, 3);
  EXPECT_EQ(failure_of([] { throw std::runtime_error("disk full"); }).status, 1);
  const ProgramFailure stopped = failure_of([] { throw Interrupted(); });
  EXPECT_EQ(stopped.status, 130);
  EXPECT_EQ(stopped.message, "interrupted");
  EXPECT_EQ(failure_of([] { throw 5; }).status, 3);
  const ProgramFailure memory = failure_of([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status, 1);
  EXPECT_TRUE(memory.message.starts_with("out of memory: ")) << memory.message;
  const ProgramFailure folder =
      failure_of([] { std::filesystem::create_directory("/dev/null/below"); });
  EXPECT_EQ(folder.status, 2);
  EXPECT_EQ(folder.message, "/dev/null/below: Not a directory");
}

}  // namespace
}  // namespace foretoken

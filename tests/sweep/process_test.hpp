// What every test of whole processes needs: a folder of its own that goes with it, a log, and
// files held against each other.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/own_folder.hpp"
#include "tests/sweep/foretoken_process.hpp"

namespace foretoken {

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::filesystem::path log() const { return path("log"); }

  /// The files NAME.csv and NAME.json of two answers are there and the same.
  void expect_same(const std::string& one, const std::string& other) const {
    for (const char* extension : {".csv", ".json"}) {
      const std::string text = text_of(path(one + extension));
      EXPECT_FALSE(text.empty());
      EXPECT_EQ(text, text_of(path(other + extension))) << one << extension;
    }
  }

  /// The program says `message` exactly once and ends with status 2.
  void expect_told_once(const std::vector<std::string>& command, const std::string& message) const {
    EXPECT_EQ(run_program(command, log()), 2);
    const std::string text = text_of(log());
    const auto first = text.find(message);
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find(message, first + 1), std::string::npos) << text;
  }

 private:
  std::filesystem::path folder_ = own_folder() / "process";
};

}  // namespace foretoken

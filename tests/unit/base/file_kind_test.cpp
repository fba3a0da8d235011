// A file in another's place is told by what it is, in one line.
#include "sim/base/file_kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string complaint(const fs::path& path, FileKind wanted) {
  try {
    (void)load_toml(path, wanted);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

struct Folder {
  const char* path;
  FileKind kind;
  const char* name;
};
constexpr auto folders = std::to_array<Folder>({
    {"examples", FileKind::scenario, "a scenario"},
    {"models/specs", FileKind::model, "a model"},
    {"hardware/specs/gpus", FileKind::gpu, "a GPU"},
    {"hardware/specs/clusters", FileKind::cluster, "a cluster"},
});

TEST(FileKind, EveryFileOfTheTreeIsToldFromTheOtherKinds) {
  int files = 0;
  for (const Folder& folder : folders) {
    for (const auto& entry : fs::directory_iterator(fs::path(FORETOKEN_SOURCE_DIR) / folder.path)) {
      if (entry.path().extension() != ".toml") continue;
      ++files;
      EXPECT_EQ(complaint(entry.path(), folder.kind), "");
      for (const Folder& other : folders) {
        if (other.kind == folder.kind) continue;
        const std::string said = complaint(entry.path(), other.kind);
        EXPECT_THAT(said, HasSubstr(std::string("this is ") + folder.name + ", not " + other.name))
            << entry.path();
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
      }
    }
  }
  EXPECT_GT(files, 100);
}

TEST(FileKind, WhatLacksAKeyOrTwoIsStillReadAsWhatItIs) {
  const Value scenario =
      parse_toml("[model]\nname = \"llama-3.1-8b\"\n[slo]\nttft = \"1 s\"\n", "s");
  EXPECT_NO_THROW(expect_kind(scenario, "s", FileKind::scenario));
  EXPECT_NO_THROW(expect_kind(parse_toml("lay = 3\nhidden = 4096\n", "m"), "m", FileKind::model));
}

class FileKindOfJson : public testing::Test {
 protected:
  fs::path written(const std::string& name, const std::string& text) {
    fs::create_directories(own_folder());
    const fs::path path = own_folder() / name;
    std::ofstream(path) << text;
    return path;
  }
};

constexpr const char* config = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096})";

TEST_F(FileKindOfJson, AConfigJsonIsToldWithTheCommandThatConvertsIt) {
  const fs::path path = written("config.json", config);
  for (const FileKind wanted : {FileKind::scenario, FileKind::recording, FileKind::deployment}) {
    try {
      expect_kind_of_file(path, wanted);
      ADD_FAILURE() << "passes";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("this is a Hugging Face model's config.json"));
      EXPECT_THAT(error.what(), HasSubstr("`foretoken model import`"));
    }
  }
}

TEST_F(FileKindOfJson, OtherJsonIsToldOnlyWhereTomlIsWanted) {
  const fs::path lines =
      written("requests.json", "{\"prompt_tokens\": 3}\n{\"prompt_tokens\": 4}\n");
  EXPECT_NO_THROW(expect_kind_of_file(lines, FileKind::recording));
  EXPECT_THAT(complaint(lines, FileKind::scenario),
              HasSubstr("this is JSON; a scenario is written in TOML"));
  EXPECT_THAT(
      complaint(written("report.json", R"({"scenario": {}, "iterations": 4})"), FileKind::scenario),
      HasSubstr("this is a report, not a scenario"));
}

}  // namespace
}  // namespace foretoken

// What the request tests share: a [workload] table from TOML text, its requests, and files that
// vanish with the test.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"
#include "workloads/requests/workload.hpp"

namespace foretoken {

struct ReadWorkload {
  std::unique_ptr<Workload> workload;
  std::string errors;  // one line each
};

/// Reads `text`, the members of a [workload] table, as lines 2 and on of "s.toml".
inline ReadWorkload read(std::string_view text, const WorkloadOptions& options = {}) {
  const Value root = parse_toml("[workload]\n" + std::string(text), "s.toml");
  Diagnostics diagnostics;
  TableReader table(*root.find("workload"), diagnostics, "workload");
  ReadWorkload result;
  result.workload = read_workload(table, options);
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    result.errors = error.what();
  }
  return result;
}

/// The requests of an open workload, at most `most`.
inline std::vector<Request> requests(const Workload& workload, std::uint64_t seed = 1,
                                     std::size_t most = 1'000'000) {
  const auto source = workload.start(RandomStreams(seed));
  std::vector<Request> all;
  while (all.size() < most) {
    auto request = source->next();
    if (!request) break;
    all.push_back(*std::move(request));
  }
  return all;
}

inline std::vector<Request> requests(std::string_view text, const WorkloadOptions& options = {}) {
  const ReadWorkload result = read(text, options);
  EXPECT_EQ(result.errors, "");
  return result.workload ? requests(*result.workload) : std::vector<Request>();
}

inline std::vector<double> arrivals(const std::vector<Request>& all) {
  std::vector<double> times;
  for (const Request& request : all) times.push_back(request.arrival.value());
  return times;
}

inline std::vector<std::int64_t> prompts(const std::vector<Request>& all) {
  std::vector<std::int64_t> tokens;
  for (const Request& request : all) tokens.push_back(request.prompt_tokens);
  return tokens;
}

inline std::vector<std::int64_t> outputs(const std::vector<Request>& all) {
  std::vector<std::int64_t> tokens;
  for (const Request& request : all) tokens.push_back(request.output_tokens);
  return tokens;
}

/// A folder of its own for each test.
class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = own_folder() / "files";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, std::string_view text) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path write_gzip(const std::string& name, std::string_view text) const {
    const auto path = folder_ / name;
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }

  std::filesystem::path folder_;
};

/// A file of the third-party data, or an empty path where there is none.
inline std::filesystem::path third_party(const std::string& name) {
  const char* root = std::getenv("FORETOKEN_DATA");
  return root == nullptr ? std::filesystem::path() : std::filesystem::path(root) / name;
}

}  // namespace foretoken

// Traces of served requests: what `serve --record` writes of prompts that begin alike.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/error.hpp"
#include "tests/own_folder.hpp"
#include "workloads/requests/trace.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken::served_trace_test {
namespace {

class ServedTrace : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::ofstream(folder_ / "requests.jsonl") << text;
    return folder_ / "requests.jsonl";
  }
  std::shared_ptr<const Trace> load(const std::string& text) {
    return load_trace(write(text), "", false, trace_format_registry());
  }

  std::filesystem::path folder_ = own_folder();
};

constexpr const char* first =
    R"({"input_toks":40,"output_toks":2,"arrival_time":1,"prefix_block_tokens":16,"prefix_hashes":[0,1]})"
    "\n";

TEST_F(ServedTrace, HasItsOwnBlocks) {
  const auto trace = load(
      first + std::string(R"({"input_toks":9,"output_toks":2,"arrival_time":2})") + "\n" +
      R"({"input_toks":40,"output_toks":2,"arrival_time":3,"prefix_block_tokens":16,"prefix_hashes":[0,2]})");
  EXPECT_EQ(trace->format(), "served");
  EXPECT_TRUE(trace->shares_prefixes());
  EXPECT_EQ(trace->prefix_block_tokens(), 16);
}

TEST_F(ServedTrace, OneWithoutBlocksSharesAsOthersDo) {
  EXPECT_EQ(load(R"({"input_toks":9,"output_toks":2,"arrival_time":2,"prefix_hashes":[3]})")
                ->prefix_block_tokens(),
            512);
}

TEST_F(ServedTrace, BlocksOfTwoSizesAreAMistake) {
  try {
    load(first + std::string(R"({"input_toks":9,"output_toks":2,"arrival_time":2,)"
                             R"("prefix_block_tokens":32,"prefix_hashes":[3]})"
                             "\n"));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().message,
              "prefix_block_tokens must be 16, as in lines before, found 32");
    EXPECT_EQ(error.diagnostics().front().position.line, 2);
  }
}

}  // namespace
}  // namespace foretoken::served_trace_test

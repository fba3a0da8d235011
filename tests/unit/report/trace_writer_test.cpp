// A trace, byte by byte, and the tracks that overlapping things are given.
#include "sim/report/trace_writer.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <sstream>

#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

std::filesystem::path path_of(const std::string& name) { return own_folder() / name; }

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_small(const std::filesystem::path& path) {
  OutputFile file(path);
  TraceWriter trace(file);
  trace.name_process(2, "replica \"0\"");
  trace.name_thread({2, 1}, "stage 0");
  trace.slice({2, 1}, "decode", "step", Seconds(0.0015), Seconds(0.0040004),
              TraceArguments().add("decodes", std::int64_t{3}).add("us", 0.1).add("kind", "a<b"));
  trace.counter(2, "sequences", Seconds(1), TraceArguments().add("running", std::int64_t{1}));
  trace.flow(FlowPart::start, {1, 1}, "request", 7, Seconds(0));
  trace.flow(FlowPart::step, {2, 1}, "request", 7, Seconds(0.002));
  trace.flow(FlowPart::end, {2, 1}, "request", 7, Seconds(0.003));
  trace.close();
  file.finish();
  file.publish();
}

constexpr const char* small =
    R"([
{"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"replica \"0\""}},
{"ph":"M","name":"process_sort_index","pid":2,"tid":0,"args":{"sort_index":2}},
{"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"stage 0"}},
{"ph":"M","name":"thread_sort_index","pid":2,"tid":1,"args":{"sort_index":1}},
{"ph":"X","name":"decode","cat":"step","pid":2,"tid":1,"ts":1500.000,"dur":2500.400,"args":{"decodes":3,"us":0.1,"kind":"a\u003cb"}},
{"ph":"C","name":"sequences","pid":2,"ts":1000000.000,"args":{"running":1}},
{"ph":"s","name":"request","cat":"flow","id":7,"pid":1,"tid":1,"ts":0.000},
{"ph":"t","name":"request","cat":"flow","id":7,"pid":2,"tid":1,"ts":2000.000},
{"ph":"f","name":"request","cat":"flow","id":7,"pid":2,"tid":1,"ts":3000.000,"bp":"e"}
]
)";

TEST(TraceWriter, WritesEachKindOfEvent) {
  const auto path = path_of("trace_writer.json");
  write_small(path);
  EXPECT_EQ(content(path), small);
}

TEST(TraceWriter, CompressesByName) {
  const auto path = path_of("trace_writer.json.gz");
  write_small(path);
  EXPECT_EQ(content(path).substr(0, 2), "\x1f\x8b");
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text(10'000, '\0');
  text.resize(static_cast<std::size_t>(gzread(file, text.data(), 10'000)));
  gzclose(file);
  EXPECT_EQ(text, small);
}

TEST(TraceWriter, IsAnArrayWithoutEvents) {
  const auto path = path_of("trace_writer_empty.json");
  OutputFile file(path);
  TraceWriter(file).close();
  file.finish();
  file.publish();
  EXPECT_EQ(content(path), "[\n]\n");
}

TEST(TraceLanes, GiveTheLaneThatWasFreedLastBeforeTheStart) {
  TraceLanes lanes;
  EXPECT_EQ(lanes.take(Seconds(0)), 0U);
  EXPECT_EQ(lanes.take(Seconds(1)), 1U);
  lanes.release(0, Seconds(2));
  lanes.release(1, Seconds(3));
  EXPECT_EQ(lanes.take(Seconds(2.5)), 0U);  // 1 is taken until 3
  EXPECT_EQ(lanes.take(Seconds(2.9)), 2U);
  lanes.release(0, Seconds(3));
  lanes.release(2, Seconds(4));
  EXPECT_EQ(lanes.take(Seconds(4)), 2U);  // touching is fine
  EXPECT_EQ(lanes.take(Seconds(4)), 1U);
  EXPECT_EQ(lanes.take(Seconds(4)), 0U);
  EXPECT_EQ(lanes.size(), 3U);
}

}  // namespace
}  // namespace foretoken

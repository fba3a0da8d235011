// Traces whose calls wait for each other: each format as it is read, what is sent when, and what is
// told of damaged files.
#include <gmock/gmock.h>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::agent_traces_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AgentTraces : public TemporaryFolder {
 protected:
  std::shared_ptr<const Trace> load(std::string_view text, std::string_view format = "",
                                    bool skips = false) const {
    return load_trace(write("t.jsonl", text), format, skips, trace_format_registry());
  }
  std::string mistakes(std::string_view text, std::string_view format = "") const {
    try {
      load(text, format);
    } catch (const ConfigError& error) {
      std::string told = error.what();
      const std::string prefix = folder_.string() + "/";
      for (auto at = told.find(prefix); at != std::string::npos; at = told.find(prefix))
        told.erase(at, prefix.size());
      return told.substr(0, told.find('\n'));
    }
    return "no error";
  }
  /// A source of the trace `text`, with `more` keys of its [workload].
  std::unique_ptr<RequestSource> source_of(std::string_view text,
                                           const std::string& more = "") const {
    const ReadWorkload result =
        read("trace = \"" + write("t.jsonl", text).string() + "\"\n" + more);
    EXPECT_EQ(result.errors, "");
    return result.workload->start(RandomStreams(1));
  }
};

/// Two calls of a main agent with two subagents between them, times within subagents as the
/// session's (61.x) or as their own.
std::string weka_session(bool is_relative) {
  const std::string first = is_relative ? "0.0" : "4.0", second = is_relative ? "0.5" : "5.5";
  return R"({"id":"s","block_size":4,"hash_id_scope":"local","requests":[
{"t":0.0,"type":"s","in":10,"out":6,"hash_ids":[1,2,3],"api_time":3.0},
{"t":4.0,"type":"subagent","agent_id":"a","requests":[
{"t":)" + first +
         R"(,"type":"n","in":8,"out":2,"hash_ids":[1,9],"api_time":2.0}]},
{"t":5.0,"type":"subagent","agent_id":"b","requests":[
{"t":)" + second +
         R"(,"type":"n","in":8,"out":2,"hash_ids":[1,8],"api_time":4.0}]},
{"t":10.0,"type":"s","in":20,"out":3,"hash_ids":[1,2,3,4,5],"api_time":1.0}]})";
}

TEST_F(AgentTraces, ASessionOfWekaIsAForkAndAJoin) {
  for (const bool is_relative : {true, false}) {
    SCOPED_TRACE(is_relative);
    const auto trace = load(weka_session(is_relative));
    EXPECT_EQ(trace->format(), "weka");
    EXPECT_EQ(trace->prefix_block_tokens(), 4);
    EXPECT_TRUE(trace->hashes_are_local());
    EXPECT_FALSE(trace->has_arrivals());
    ASSERT_EQ(trace->trajectories().size(), 1U);
    const TraceTrajectory& calls = trace->trajectories()[0];
    ASSERT_EQ(calls.size(), 4U);
    EXPECT_THAT(calls[0].waits_for, ElementsAre());
    // The first answer comes at 3 s; the subagents call at 4 s and 5.5 s.
    EXPECT_THAT(calls[1].waits_for, ElementsAre(CallWait{0, Seconds(1.0)}));
    EXPECT_THAT(calls[2].waits_for, ElementsAre(CallWait{0, Seconds(2.5)}));
    // They end at 6 s and 9.5 s.
    EXPECT_THAT(calls[3].waits_for,
                ElementsAre(CallWait{1, Seconds(4.0)}, CallWait{2, Seconds(0.5)}));
  }
}

TEST_F(AgentTraces, AFasterServerIsAskedSooner) {
  const auto source = source_of(weka_session(true), "arrivals = \"all_at_once\"\nrequests = 8\n");
  const Request first = *source->next();
  EXPECT_EQ(first.prompt_tokens, 10);
  source->on_finished(first.id, Seconds(1.0));
  const Request a = *source->next_follow_up(), b = *source->next_follow_up();
  EXPECT_DOUBLE_EQ(a.arrival.value(), 2.0);
  EXPECT_DOUBLE_EQ(b.arrival.value(), 3.5);
  source->on_finished(b.id, Seconds(3.8));
  EXPECT_FALSE(source->next_follow_up());
  source->on_finished(a.id, Seconds(4.0));
  // 4.0 + 4.0 is later than 3.8 + 0.5: subagent a decides.
  const Request last = *source->next_follow_up();
  EXPECT_DOUBLE_EQ(last.arrival.value(), 8.0);
  EXPECT_EQ(last.after, a.id);
  EXPECT_EQ(last.session_requests, 4);
}

TEST_F(AgentTraces, AnAnswerIsFoundByWhoRepeatsIt) {
  const auto source = source_of(weka_session(true), "arrivals = \"all_at_once\"\nrequests = 8\n");
  const Request first = *source->next();
  // 10 tokens of prompt and 6 of answer are four blocks of 4, which the last call begins with.
  ASSERT_TRUE(first.prefix_hashes_cover_output);
  ASSERT_EQ(first.prefix_hashes.size(), 4U);
  source->on_finished(first.id, Seconds(1.0));
  const Request a = *source->next_follow_up(), b = *source->next_follow_up();
  EXPECT_EQ(a.prefix_hashes[0], first.prefix_hashes[0]);
  EXPECT_NE(a.prefix_hashes[1], first.prefix_hashes[1]);
  EXPECT_FALSE(a.prefix_hashes_cover_output);
  source->on_finished(a.id, Seconds(3.0));
  source->on_finished(b.id, Seconds(4.0));
  const Request last = *source->next_follow_up();
  // The third block was only part full when the first call was recorded, and is now its answer's.
  EXPECT_TRUE(first.prefix_hashes.first(2) == last.prefix_hashes.first(2));
  // The same session, played again, shares nothing with the first time.
  EXPECT_NE(source->next()->prefix_hashes[0], first.prefix_hashes[0]);
}

TEST_F(AgentTraces, WhatWasSentSideBySideIsSentSideBySide) {
  const auto trace =
      load(R"({"id":"s","requests":[{"t":0,"in":5,"out":1,"hash_ids":[],"api_time":9},)"
           R"({"t":2,"in":6,"out":0,"hash_ids":[],"api_time":1},)"
           R"({"t":4,"in":7,"out":1,"hash_ids":[],"api_time":1,"think_time":0.25}]})");
  const TraceTrajectory& calls = trace->trajectories().at(0);
  EXPECT_THAT(calls[1].waits_for, ElementsAre(CallWait{0, Seconds(2.0), true}));
  EXPECT_THAT(calls[2].waits_for, ElementsAre(CallWait{1, Seconds(0.25)}));
}

TEST_F(AgentTraces, AgenticMooncakeTellsWhoWaitsForWhom) {
  const std::string text =
      R"({"request_id":"a","session_id":"m","input_length":200,"output_length":9,"hash_ids":[1,2],"timestamp":5000})"
      "\n"
      R"({"request_id":"b","session_id":"k","input_length":60,"output_length":9,"hash_ids":[1],"wait_for":["a"],"delay":20,"tool_wait_ms":480})"
      "\n"
      R"({"request_id":"z","session_id":"z","input_length":60,"output_length":9,"hash_ids":[7],"timestamp":5100})"
      "\n"
      R"({"request_id":"c","session_id":"m","input_length":300,"output_length":9,"hash_ids":[1,2,3],"wait_for":["a","b"]})"
      "\n";
  const auto trace = load(text);
  EXPECT_EQ(trace->format(), "agentic_mooncake");
  EXPECT_EQ(trace->prefix_block_tokens(), 128);
  ASSERT_EQ(trace->trajectories().size(), 2U);
  const TraceTrajectory& calls = trace->trajectories()[0];
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_THAT(calls[1].waits_for, ElementsAre(CallWait{0, Seconds(0.5)}));
  EXPECT_THAT(calls[2].waits_for, ElementsAre(CallWait{0, Seconds(0.0)}, CallWait{1}));
  const auto source = source_of(text);
  EXPECT_EQ(source->next()->prompt_tokens, 200);
  EXPECT_DOUBLE_EQ(source->next()->arrival.value(), 0.1);  // z, which waits for nobody
  EXPECT_FALSE(source->next());
}

TEST_F(AgentTraces, VersionTwoHasAHeaderAndWaitsForSendingToo) {
  const std::string text =
      R"({"schema":"dynamo.agentic_mooncake","version":2,"block_size":64,"hash_id_scope":"local","source":{"format":"x","digest":"y"}})"
      "\n"
      R"({"request_id":"a","play_id":"p","session_id":"m","model":"m","input_length":64,"output_length":9,"hash_ids":[1],"not_before_ms":0})"
      "\n"
      R"({"request_id":"b","play_id":"p","session_id":"k","model":"m","input_length":64,"output_length":9,"hash_ids":[1],"not_before_ms":100,"dependencies":[{"request_id":"a","trigger":"dispatch","relation":"spawn","delay_ms":300}]})"
      "\n";
  EXPECT_EQ(load(text)->prefix_block_tokens(), 64);
  const auto source = source_of(text);
  const Request a = *source->next();
  const Request b = *source->next_follow_up();
  EXPECT_DOUBLE_EQ(b.arrival.value(), 0.3);
  EXPECT_EQ(b.after, a.id);
  EXPECT_EQ(a.prefix_hashes, b.prefix_hashes);
  EXPECT_THAT(mistakes(R"({"schema":"dynamo.agentic_mooncake","version":3,"block_size":64})"),
              "t.jsonl:1: version must be 2, found 3");
}

TEST_F(AgentTraces, BailianWaitsForTheAnswerButComesNoSooner) {
  const std::string text =
      R"({"chat_id":1,"parent_chat_id":-1,"timestamp":10.0,"input_length":20,"output_length":12,"type":"text","turn":1,"hash_ids":[1,2]})"
      "\n"
      R"({"chat_id":2,"parent_chat_id":1,"timestamp":14.0,"input_length":40,"output_length":5,"type":"text","turn":2,"hash_ids":[1,3,4]})"
      "\n"
      R"({"chat_id":3,"parent_chat_id":0,"timestamp":15.0,"input_length":40,"output_length":5,"type":"text","turn":2,"hash_ids":[8,9,7]})"
      "\n";
  EXPECT_EQ(load(text)->format(), "bailian");
  EXPECT_EQ(load(text)->trajectories().size(), 2U);  // what 3 follows up on is in another file
  for (const double end : {1.0, 9.0}) {
    const auto source = source_of(text);
    source->on_finished(source->next()->id, Seconds(end));
    EXPECT_DOUBLE_EQ(source->next_follow_up()->arrival.value(), std::max(end, 4.0));
  }
}

TEST_F(AgentTraces, SessionsOfMooncakeAddToWhatWasSaid) {
  const std::string text =
      R"({"session_id":"u","timestamp":100,"input_length":30,"output_length":20})"
      "\n"
      R"({"session_id":"u","delay":2500,"input_length":8,"output_length":4})"
      "\n";
  EXPECT_EQ(load(text)->format(), "mooncake");
  const auto source = source_of(text, "prefix_block_tokens = 16\n");
  const Request first = *source->next();
  EXPECT_EQ(first.prefix_hashes.size(), 3U);
  source->on_finished(first.id, Seconds(1.0));
  const Request second = *source->next_follow_up();
  EXPECT_DOUBLE_EQ(second.arrival.value(), 3.5);
  EXPECT_EQ(second.prompt_tokens, 30 + 20 + 8);
  EXPECT_EQ(second.prefix_hashes[2], first.prefix_hashes[2]);
}

TEST_F(AgentTraces, ConversationsHaveAllTheirTurns) {
  const std::string text =
      R"({"id":"a","timestamp":1000.5,"messages":[{"role":"system","content":"12345678"},
{"role":"user","content":"1234","timestamp":1000.5},
{"role":"assistant","content":"123456789","timestamp":1002},
{"role":"user","content":"1234","timestamp":1005.5},{"role":"assistant","content":"1"},
{"role":"user","content":"unanswered"}]})";
  const auto trace = load(text);
  EXPECT_EQ(trace->format(), "conversations");
  ASSERT_EQ(trace->trajectories().size(), 1U);
  const TraceTrajectory& calls = trace->trajectories()[0];
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(trace->prompt_tokens(calls[0].row), 3);
  EXPECT_EQ(trace->output_tokens(calls[0].row), 3);
  EXPECT_EQ(trace->prompt_tokens(calls[1].row), 1);
  EXPECT_THAT(calls[1].waits_for, ElementsAre(CallWait{0, Seconds(3.5)}));
  // WildChat: dates in words, of conversations alone.
  EXPECT_TRUE(load(R"({"conversation_hash":"h","timestamp":"2023-04-09T00:02:53+00:00",)"
                   R"("conversation":[{"role":"user","content":"hi"},)"
                   R"({"role":"assistant","content":"ho"}]})")
                  ->has_arrivals());
  // LMSYS has none.
  EXPECT_FALSE(load(R"({"conversation_id":"h","conversation":[{"role":"user","content":"hi"},)"
                    R"({"role":"assistant","content":"ho"}]})")
                   ->has_arrivals());
}

TEST_F(AgentTraces, TheExamplesAreRecognised) {
  const std::vector<std::tuple<std::string, std::string, std::size_t, std::size_t>> all = {
      {"weka.jsonl", "weka", 121, 8},
      {"agentic_mooncake.jsonl", "agentic_mooncake", 72, 12},
      {"bailian.jsonl", "bailian", 60, 20},
      {"mooncake_sessions.jsonl", "mooncake", 51, 20},
      {"chats.jsonl", "conversations", 28, 14}};
  for (const auto& [file, format, rows, trajectories] : all) {
    SCOPED_TRACE(file);
    const auto trace =
        load_trace(std::filesystem::path(FORETOKEN_SOURCE_DIR) / "examples/traces" / file, "",
                   false, trace_format_registry());
    EXPECT_EQ(trace->format(), format);
    EXPECT_EQ(trace->size(), rows);
    EXPECT_EQ(trace->trajectories().size(), trajectories);
  }
}

TEST_F(AgentTraces, LimitsCountCalls) {
  const auto source = source_of(weka_session(true), "arrivals = \"all_at_once\"\nrequests = 2\n");
  const Request first = *source->next();
  EXPECT_EQ(first.session_requests, 4) << "as recorded";
  source->on_finished(first.id, Seconds(1.0));
  EXPECT_TRUE(source->next_follow_up());
  EXPECT_FALSE(source->next_follow_up());
  EXPECT_FALSE(source->next());
}

TEST_F(AgentTraces, DamagedFilesAreToldWithTheirLine) {
  const auto agentic = [](std::string_view waits, std::string_view id = "b") {
    return R"({"request_id":"a","input_length":9,"output_length":9,"timestamp":0})"
           "\n"
           R"({"request_id":")" +
           std::string(id) + R"(","input_length":9,"output_length":9,"wait_for":)" +
           std::string(waits) + "}\n";
  };
  EXPECT_EQ(mistakes(agentic(R"(["x"])")), "t.jsonl:2: waits for \"x\", which is not in this file");
  EXPECT_EQ(mistakes(agentic(R"(["b"])")), "t.jsonl:2: waits for itself, through others");
  EXPECT_EQ(mistakes(agentic("[]", "a")), "t.jsonl:2: lacks \"timestamp\"");
  EXPECT_EQ(mistakes(agentic(R"(["a"])", "a")), "t.jsonl:2: \"a\" names two requests");
  EXPECT_EQ(mistakes(agentic("7")), "t.jsonl:2: wait_for must be a list, found an integer");
  EXPECT_EQ(load(agentic(R"(["x"])"), "", true)->trajectories().size(), 2U);
  EXPECT_EQ(mistakes(R"({"session_id":"u","input_length":3,"output_length":2,"timestamp":1})"
                     "\n"
                     R"({"session_id":"u","input_length":3,"output_length":2,"delay":-4})"),
            "t.jsonl:2: delay must be at least 0 ms; this last line is not terminated, so the file "
            "may be cut off");
  EXPECT_EQ(mistakes(R"({"session_id":"u","input_length":3,"output_length":2,"timestamp":1})"
                     "\n"
                     R"({"session_id":"v","input_length":3,"output_length":2,"delay":4})"
                     "\n"),
            "t.jsonl:2: lacks \"timestamp\", which earlier sessions have");
  EXPECT_EQ(mistakes(R"({"requests":[{"t":0,"in":5,"out":1,"hash_ids":[]},{"t":1,"out":2}]})"),
            "t.jsonl:1: requests[1]: lacks \"in\"");
  for (const std::string key : {"t", "api_time", "think_time"}) {
    EXPECT_EQ(mistakes(R"({"requests":[{"in":5,"out":1,"hash_ids":[],)" +
                       std::string(key == "t" ? "" : R"("t":1,)") + '"' + key + "\":-1}]}\n"),
              "t.jsonl:1: requests[0]: " + key + " must be at least 0 s");
  }
  EXPECT_EQ(mistakes(R"({"requests":[{"t":0,"in":5,"out":1,"hash_ids":[]},)"
                     R"({"t":1,"type":"subagent","requests":[{"t":1,"in":"x","out":2}]}]})"),
            "t.jsonl:1: requests[1]: requests[0]: in must be a number of tokens, found a string");
  EXPECT_THAT(mistakes(R"({"chat_id":1,"parent_chat_id":-1,"timestamp":1,"input_length":40,)"
                       R"("output_length":5,"hash_ids":[8]})"),
              HasSubstr("expected 3 hash_ids for 40 tokens in blocks of 16, found 1"));
  EXPECT_EQ(mistakes(R"({"messages":[{"role":"user","content":5}]})", "conversations"),
            "t.jsonl:1: a message must be {\"role\": ..., \"content\": \"text\"}");
}

}  // namespace
}  // namespace foretoken::agent_traces_test

// The requests that a real server served, as its benchmark recorded them: a folder with
// requests.jsonl (an object a line) or requests.csv (a header, then a line each), plain or gzip.
//   request_id                   text, optional
//   input_toks, output_toks      tokens of the prompt and of the answer
//   arrival_time                 s, when the client sent it, on any clock
//   queued_ts, scheduled_ts      s, when the engine had it and first worked on it; optional
//   first_token_ts, last_token_ts   s
//   model                        which it asked for, of several; optional
// What else the trace format `served` reads (images, audio, shared prefixes) is replayed too.
// The stamps may be on another clock than the arrivals (vLLM's are monotonic, its clients' are wall
// clock). What the two are apart is then the least time any request took from being sent to being
// queued, so that delays are measured from the quickest hand-over. The result file of a load tool
// (workloads/requests/client_result.hpp) is such a record too, alone or in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"

namespace foretoken {

/// Dates count from the first arrival.
struct ServedRequest {
  std::string id, model;  // "" = not said
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  Seconds arrival, first_token, last_token;
  std::optional<Seconds> queued, scheduled;

  [[nodiscard]] Seconds ttft() const { return first_token - arrival; }
  /// Mean time between output tokens after the first; 0 for a single token.
  [[nodiscard]] Seconds tpot() const {
    if (output_tokens < 2) return Seconds(0.0);
    return (last_token - first_token) / static_cast<double>(output_tokens - 1);
  }
  [[nodiscard]] Seconds end_to_end() const { return last_token - arrival; }
};

struct ServedRun {
  std::filesystem::path file;           // the requests were read from
  std::vector<ServedRequest> requests;  // in order of arrival, then of the file
  bool has_two_clocks = false;          // arrivals and stamps were aligned
  std::optional<int> users;             // who each waited for an answer; nullopt = not said
  std::int64_t failed = 0;              // requests without an answer, not among these
  std::string model;                    // as the client was told; "" = not said

  /// That requests name, in the order of their first ones; empty: none does.
  [[nodiscard]] std::vector<std::string> models() const;
  /// From the first arrival to the last token.
  [[nodiscard]] Seconds duration() const;
};

/// Throws ConfigError with every mistake's place: no such file, a line that is cut off or misses a
/// key, stamps out of order, clocks that cannot be aligned.
ServedRun load_served_run(const std::filesystem::path& folder_or_file);

}  // namespace foretoken

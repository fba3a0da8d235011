#include "workloads/requests/bench_result.hpp"

#include <fmt/format.h>

#include <cmath>

#include "workloads/requests/trace_fields.hpp"

namespace foretoken {
namespace {

/// "inf" is how the tools write that requests come as fast as they are let.
ToldTraffic told_traffic(const Value& result) {
  ToldTraffic told;
  const double rate = number_of(result.find("request_rate")).value_or(0);
  const double users = number_of(result.find("max_concurrency")).value_or(0);
  if (std::isfinite(rate) && rate > 0) {
    told.requests_per_s = rate;
    told.burstiness = number_of(result.find("burstiness")).value_or(1);
  } else if (users >= 1 && users < 1e9) {
    told.users = static_cast<int>(users);
  }
  return told;
}

}  // namespace

JsonRecords bench_results() {
  return {.skipped = {"generated_texts", "itls", "ttfts", "errors", "spec_decode_acceptance"}};
}

void add_bench_result(const Value& result, std::string_view times, std::string_view remedy,
                      TraceSink& sink) {
  for (const std::string_view key :
       {std::string_view("input_lens"), std::string_view("output_lens"), times}) {
    if (key.empty() || result.find(key) != nullptr) continue;
    throw BadLine(fmt::format("lacks \"{}\"; {}", key, remedy));
  }
  const ValueArray& prompts = list(result, "input_lens");
  const ValueArray& outputs = list(result, "output_lens");
  const ValueArray* dates = times.empty() ? nullptr : &list(result, times);
  if (outputs.size() != prompts.size() || (dates != nullptr && dates->size() != prompts.size())) {
    throw BadLine(fmt::format(
        "input_lens has {} elements and output_lens {}{}", prompts.size(), outputs.size(),
        dates == nullptr ? "" : fmt::format(", {} {}", times, dates->size())));
  }
  sink.tell(told_traffic(result));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (number_of(&outputs[i]) == 0.0) {  // as the tools write a request that failed
      sink.leave_out();
      continue;
    }
    sink.add(TraceRow{dates == nullptr ? 0 : time_ns_of((*dates)[i], times, 1.0),
                      token_count_of(prompts[i], "input_lens"),
                      token_count_of(outputs[i], "output_lens"),
                      {}},
             result.position.line);
  }
}

}  // namespace foretoken

// What the load tools of vLLM and SGLang write of a run: one object with totals and, where they
// were asked for details, lists with an element a request. Both tools descend from one script.
#pragma once

#include "sim/base/json_records.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {

/// Whole documents, without what their answers said.
JsonRecords bench_results();

/// Adds the requests of `result`, and tells the traffic it names. `times` is the list of dates when
/// requests were sent, s, or "" if the tool writes none. `remedy` says how details are recorded.
void add_bench_result(const Value& result, std::string_view times, std::string_view remedy,
                      TraceSink& sink);

}  // namespace foretoken

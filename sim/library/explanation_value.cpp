#include "sim/library/explanation_value.hpp"

#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

Value launch_value(const LaunchExplanation& launch) {
  Value value;
  value.set("name", std::string(launch.name));
  value.set("tasks", launch.tasks);
  value.set("ctas", launch.ctas);
  value.set("waves", rounded(launch.waves));
  value.set("resident_ctas", launch.resident);
  value.set("worst_sm_tasks", launch.worst_sm_tasks);
  value.set("bytes_loaded", rounded(launch.bytes_loaded));
  Value cycles;
  for (const PipeCycles& pipe : launch.pipes) {
    cycles.set(enum_name(pipe.pipe), rounded(pipe.cycles));
  }
  value.set("cycles", std::move(cycles));
  value.set("bound_by", std::string(enum_name(launch.bound_by)));
  return value;
}

}  // namespace

Value explanation_value(const Explanation& explanation) {
  Value value;
  value.set("framework", std::string(enum_name(explanation.implementation.framework)));
  value.set("kernel_source", std::string(enum_name(explanation.implementation.source)));
  if (!explanation.approximation.empty()) {
    value.set("approximation", std::string(explanation.approximation));
  }
  if (explanation.cut) {
    const ProductCut& cut = *explanation.cut;
    value.set("tile", ValueObject{{"sizes", fmt::format("{}x{}x{}", cut.m, cut.n, cut.k)},
                                  {"split_k", cut.split_k},
                                  {"origin", std::string(enum_name(cut.origin))},
                                  {"by", std::string(cut.by)}});
  }
  ValueArray launches;
  for (const LaunchExplanation& launch : explanation.launches) {
    launches.push_back(launch_value(launch));
  }
  value.set("launches", std::move(launches));
  return value;
}

}  // namespace foretoken

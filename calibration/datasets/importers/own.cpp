// Our own measurements (workloads/measurements): time_us is cold; where the row has a warm_us too,
// it is a second sample.
#include "calibration/datasets/importer.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

/// Products and attention, whose weights and caches a repeated launch finds in the L2.
bool reuses_operands(const Kernel& kernel) {
  return std::visit(
      [](const auto& value) {
        return requires { value.implementation; };
      },
      kernel);
}

}  // namespace

void import_own(const MeasuredFile& file, SampleSink& sink) {
  MeasuredRows rows(file.path, file.gpu);
  MeasuredLaunch launch;
  while (rows.next(launch)) {
    if (launch.is_aside) continue;
    const std::string layout = kernel_layout(launch.kernel);
    const std::string origin = "foretoken_" + launch.gpu.substr(0, launch.gpu.find('-'));
    sink.add({launch.kernel, launch.gpu, launch.time, launch.source_name, origin, layout});
    // Repeats of a kernel that streams save more than its launches in a step do (stream_model.hpp),
    // so that they are no samples of either.
    if (!launch.warm_time || !reuses_operands(launch.kernel)) continue;
    set_cold(launch.kernel, false);
    sink.add({launch.kernel, launch.gpu, *launch.warm_time, launch.source_name, origin, layout});
  }
}

}  // namespace foretoken

// `foretoken-tune device`: the process beside the GPU that `record` and `run` start for themselves.
#include <filesystem>

#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/device/device_loop.hpp"

namespace foretoken::tune {

void add_device(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("device", "Evaluate kernels for another process");
  command->group("");  // not for people
  command->callback([&chosen] {
    chosen = [] {
      serve_device();
      return 0;
    };
  });
}

std::vector<std::string> device_command() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "device"};
}

}  // namespace foretoken::tune

// What people and drivers call GPUs, and the names of the built-in specs: "H100", "A100 80GB",
// "NVIDIA H100 80GB HBM3". load_gpu, load_cluster and [plan] ask for it, and
// readers of recorded runs by device name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// The built-in GPUs that `text` may mean, sorted. A form factor (SXM, PCIe, NVL) and a memory size
/// may be left out, but one that is said must be the spec's; vendor words and case do not count.
std::vector<std::string> gpus_called(std::string_view text);

/// " may be a100-pcie or a100-sxm; say which" for several, else "".
std::string ambiguous_gpu_message(std::string_view text, const std::vector<std::string>& found);

}  // namespace foretoken

// Measured communication, whatever file it came from: our own CSVs (README.md beside this header)
// or the comm folder of FORETOKEN_DATA. A sample is an operation, who ran it on which GPUs, and how
// long it took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/communication/measured_communication.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

inline constexpr std::string_view pipeweave_origin = "pipeweave";

struct CommSample {
  std::string gpu;      // "h100-sxm"
  std::string cluster;  // "" = nodes of the GPU's usual chassis
  int nodes = 1;
  int ranks = 2;
  CollectiveOp op = CollectiveOp::all_reduce;
  CommLibrary library = CommLibrary::nccl;
  std::string version;  // "2.27.3"; "" = the file does not say
  CommLaunch launch = CommLaunch::bench;
  std::string algorithm = "auto";  // named to the library, or its own choice
  std::string protocol = "auto";
  double element_bytes = 2;
  double bytes = 0;  // as Collective::bytes counts them
  Seconds time;
  std::string origin;  // "aiconfigurator", "vidur", "pipeweave", "foretoken"
  // expert_dispatch and expert_combine only.
  ExpertTraffic experts;
  std::int64_t tokens = 0;  // of one rank
  int hidden = 0;
  int sms = 0;  // that carry the messages; 0 = the library's own choice
};

struct CommDataset {
  std::vector<CommSample> samples;
  std::map<std::string, std::int64_t, std::less<>> left_out;  // rows by reason
};

/// Everything below FORETOKEN_DATA's comm folder. Left out, and counted:
/// - the L40S with more than two GPUs: the host offered no peer-to-peer copies there;
/// - rows that repeat another version's file to the last digit: copies, not measurements;
/// - hiccups: rows at least 1.5 times as long as both neighbours in size of the same curve.
/// Throws ConfigError with file and line for a row it cannot read.
CommDataset load_comm_data(const std::filesystem::path& foretoken_data);

/// Our own measurements: files of `foretoken-measure-comm` below `path`, or that one file. Repeated
/// rows (pass 1) are left out.
CommDataset load_own_comm(const std::filesystem::path& path);

}  // namespace foretoken

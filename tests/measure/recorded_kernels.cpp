// Kernels that no row is about: what they leave behind where a program looks at it, and the time of
// a GPU with round numbers (4 TB/s of DRAM, 8 of L2, 100 and 60 GB/s an SM, 1,500 MHz), from which
// tests know what foretoken-measure has to find out about it.
#include <algorithm>
#include <string_view>

#include "tests/measure/recorded_gpu.hpp"

namespace foretoken::recorded {
namespace {

constexpr double launch_us = 2;     // of a plain launch, from event to event
constexpr double small_us = 0.5;    // of an empty kernel in a graph
constexpr double block_us = 0.001;  // of each of its blocks
constexpr double sweep_us = 60;
constexpr double dram_gb = 4000, dram_sm_gb = 100, l2_gb = 8000, l2_sm_gb = 60;
constexpr double clock_mhz = 1500;
constexpr double near_cycles = 300, far_cycles = 900;  // a load from L2 and from DRAM
constexpr std::size_t access_bytes = 16;

template <typename T>
T argument(void** arguments, int index) {
  return *static_cast<const T*>(arguments[index]);
}

/// Microseconds of `bytes` at a rate in GB/s.
double transfer_us(double bytes, double gb) { return bytes / (1000 * gb); }

struct Stamp {
  long long cycles;
  unsigned long long nanoseconds;
  unsigned sm;
};

void stamp(Stamp* out, const CUstream_st& stream) {
  // With the fault "sm" no two stamps are of one SM.
  const auto sm = has_fault("sm") ? static_cast<unsigned>(stream.now_us) : 7U;
  *out = {static_cast<long long>(stream.cycles),
          static_cast<unsigned long long>(1000 * stream.now_us), sm};
}

/// Cycles of a step of each arithmetic loop; 0: this GPU or build has no such instruction.
double step_cycles(std::string_view shown) {
  if (shown.find("mma_sync_kernel") != shown.npos) return 64;
  if (shown.find("wgmma_kernel<16,") != shown.npos) return 0;
  if (shown.find("wgmma_kernel") != shown.npos) return 512;
  return shown.find("ex2_kernel") != shown.npos ? 128 : 32;
}

void count_cycles(void** arguments, const std::string& shown, Launched& launched) {
  const double cycles = step_cycles(shown) * argument<int>(arguments, 1);
  auto* const counters = argument<long long*>(arguments, 2);
  std::fill_n(counters, launched.grid.x, static_cast<long long>(cycles));
  launched.us = cycles / clock_mhz;
}

void chase(void** arguments, Launched& launched, const CUstream_st& stream) {
  const int steps = argument<int>(arguments, 1);
  const bool is_near =
      static_cast<double>(stream.last_read) <= Recording::get().said_number("l2_bytes", 50 << 20);
  const double cycles = (is_near ? near_cycles : far_cycles) * steps;
  *argument<long long*>(arguments, 2) = static_cast<long long>(cycles);
  *argument<unsigned long long*>(arguments, 3) =
      static_cast<unsigned long long>(1000 * cycles / clock_mhz);
  launched.us = launch_us + cycles / clock_mhz;
}

/// All-reduce over peer memory: kernel(Peers, out, rank, packs, turns), Peers beginning with eight
/// inputs.
void reduce_peers(const std::string& shown, void** arguments, Launched& launched,
                  const CUstream_st& stream) {
  const int ranks = std::stoi(shown.substr(shown.find('<') + 1));
  const auto packs = argument<std::size_t>(arguments, 3);
  const std::string algorithm = shown.find("one_shot") != shown.npos ? "one_shot" : "two_shot";
  const char* const launch = stream.capture ? "graph" : "eager";
  launched.piece.row =
      Recording::get().collective("all_reduce", algorithm, launch, ranks, packs * access_bytes);
  const int rank = argument<int>(arguments, 2);
  launched.share = rank == ranks - 1 ? 1 : 0.8;
  launched.us = launch_us;
  if (stream.capture) return;
  thread_local std::size_t added = 0;  // the same again finds the same sums
  if (added == packs) return;
  added = packs;
  const auto* const inputs = static_cast<const void* const*>(arguments[0]);
  add_up(std::vector<const void*>(inputs, inputs + ranks), argument<void*>(arguments, 1),
         packs * access_bytes / 2);
}

}  // namespace

void run_unrecorded(const std::string& shown, void** arguments, Launched& launched,
                    cudaStream_t stream) {
  const auto is = [&](const char* name) { return shown.find(name) != shown.npos; };
  const double blocks = launched.grid.x;
  if (is("::empty")) {
    launched.us = small_us + block_us * blocks;
  } else if (is("::stamp(")) {
    stamp(argument<Stamp*>(arguments, 0), *stream);
  } else if (is("::read_all(")) {
    launched.us = sweep_us;
    launched.sweeps_l2 = true;
  } else if (is("::spin(")) {
    launched.us = static_cast<double>(argument<unsigned long long>(arguments, 0)) / 1000;
  } else if (is("::read_kernel(")) {
    stream->last_read = access_bytes * argument<std::size_t>(arguments, 1);
    launched.us = launch_us + transfer_us(static_cast<double>(stream->last_read),
                                          std::min(dram_gb, dram_sm_gb * blocks));
  } else if (is("::copy_kernel(")) {
    const auto bytes = 2 * access_bytes * argument<std::size_t>(arguments, 2);
    launched.us = launch_us + transfer_us(static_cast<double>(bytes), dram_gb);
  } else if (is("::circle_kernel(")) {
    const double range = static_cast<double>(access_bytes) * argument<unsigned>(arguments, 1);
    const double bytes =
        static_cast<double>(access_bytes) * argument<int>(arguments, 2) * blocks * launched.block.x;
    const bool is_near = range <= Recording::get().said_number("l2_bytes", 50 << 20);
    launched.us = transfer_us(bytes, std::min(is_near ? l2_gb : dram_gb, l2_sm_gb * blocks));
  } else if (is("::chase_kernel(")) {
    chase(arguments, launched, *stream);
  } else if (is("_shot_kernel<")) {
    reduce_peers(shown, arguments, launched, *stream);
  } else if (is("mma_kernel") || is("mma_sync_kernel") || is("ex2_kernel") || is("fma_kernel")) {
    count_cycles(arguments, shown, launched);
  } else if (!is("::fill_")) {
    failed(cudaErrorInvalidValue);  // a launch that was never recorded
  }
}

}  // namespace foretoken::recorded

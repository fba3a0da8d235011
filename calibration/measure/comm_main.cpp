// foretoken-measure-comm: times collectives between the GPUs of this machine and writes Foretoken's
// dataset format. README.md beside this file says how to use it.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "comm_stopwatch.hpp"
#include "dataset_writer.hpp"
#include "nccl_group.hpp"
#include "peer_all_reduce.hpp"
#include "provenance.hpp"

namespace foretoken::measure {
namespace {

constexpr unsigned stuck_seconds = 60;                         // a point takes 0.1 s
constexpr std::size_t peer_bytes_max = std::size_t{32} << 20;  // serving frameworks stop at 8 MiB
constexpr int repeat_every = 8;                                // points measured again for pass 1
constexpr std::size_t check_bytes = std::size_t{3} << 18;      // of the all-reduce that is checked
constexpr std::size_t buffer_slack = 4096;                     // the few bytes that align the ranks

const char* const usage = R"(usage: foretoken-measure-comm --out FILE.csv [options]
  --gpus N       use the first N GPUs (default: all); groups of 2, 4 and 8 of them are measured
  --operations L comma-separated, such as all_reduce,all_gather (default: all)
  --min BYTES    smallest message (default 1024)
  --max BYTES    largest message (default 536870912)
  --coarse       powers of four only (default: powers of two and their midpoints)
  --graph-only   skip calls that the host enqueues one by one
  --nccl-only    skip the one-shot and two-shot all-reduce over peer memory
NCCL chooses algorithm and protocol unless NCCL_ALGO and NCCL_PROTO name them.
)";

struct CommOptions {
  std::string out;
  std::vector<std::string> operations;  // empty: all
  int gpus = 0;
  std::size_t bytes_min = 1024, bytes_max = std::size_t{512} << 20;
  bool coarse = false, graph_only = false, nccl_only = false;
};

/// Throws std::runtime_error for an operation that no group has.
void check_operations(const CommOptions& options) {
  constexpr const char* known[] = {"all_reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "broadcast",  "send_recv"};
  for (const std::string& name : options.operations) {
    if (std::find(std::begin(known), std::end(known), name) != std::end(known)) continue;
    std::string names;
    for (const char* each : known) names += (names.empty() ? "" : ", ") + std::string(each);
    throw std::runtime_error("no operation \"" + name + "\"; there are " + names);
  }
}

CommOptions parse_comm(int argc, char** argv) {
  CommOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw std::runtime_error(word + " needs a value");
      return argv[++i];
    };
    if (word == "--out") {
      options.out = value();
    } else if (word == "--gpus") {
      options.gpus = number_of<int>(word, value());
    } else if (word == "--operations") {
      const std::string list = value();
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        options.operations.push_back(list.substr(at, comma - at));
        at = comma + 1;
      }
    } else if (word == "--min") {
      options.bytes_min = number_of<std::size_t>(word, value());
    } else if (word == "--max") {
      options.bytes_max = number_of<std::size_t>(word, value());
    } else if (word == "--coarse") {
      options.coarse = true;
    } else if (word == "--graph-only") {
      options.graph_only = true;
    } else if (word == "--nccl-only") {
      options.nccl_only = true;
    } else {
      throw std::runtime_error("unknown option " + word);
    }
  }
  check_operations(options);
  return options;
}

/// Multiples of 256 bytes, so that eight ranks get whole 16-byte parts.
std::vector<std::size_t> message_sizes(const CommOptions& options) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = options.bytes_min / 256 * 256; size <= options.bytes_max;
       size *= options.coarse ? 4 : 2) {
    if (size == 0) throw std::runtime_error("--min is at least 256");
    sizes.push_back(size);
    const std::size_t middle = size / 512 * 768;
    if (!options.coarse && middle > size && middle <= options.bytes_max) sizes.push_back(middle);
  }
  return sizes;
}

bool is_asked(const CommOptions& options, const std::string& operation) {
  if (options.operations.empty()) return true;
  for (const std::string& name : options.operations)
    if (name == operation) return true;
  return false;
}

std::vector<Gpu> open_gpus(int asked) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting the GPUs");
  if (asked > 0) count = std::min(count, asked);
  if (count < 2) throw std::runtime_error("communication needs two GPUs or more");
  std::vector<Gpu> gpus;
  for (int device = 0; device < count; ++device) gpus.push_back(open_gpu(device));
  return gpus;
}

Provenance comm_provenance(const std::vector<Gpu>& gpus, bool has_peer_access) {
  Provenance provenance = provenance_of(gpus[0]);
  for (auto& [key, value] : provenance) {
    if (key == "program") value = "foretoken-measure-comm 1";
    if (key != "method") continue;
    value =
        "chain of `calls` equal calls on one stream of every rank, one process with a thread a "
        "rank; graph: a CUDA graph of the chain, enqueued before it begins; eager: the host "
        "enqueues every call; ranks aligned by a small all-reduce; slowest rank's event time / "
        "calls (a graph's head, 2 to 3 us, included); median, 10th, 90th percentile of `repeats`; "
        "out of place, buffers reused; clocks as the card chose them";
  }
  provenance.emplace_back("gpus", std::to_string(gpus.size()));
  provenance.emplace_back("nccl", nccl_version_text());
  provenance.emplace_back("peer_access", has_peer_access ? "all pairs" : "not all pairs");
  for (const char* const name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) provenance.emplace_back(name, value);
  }
  return provenance;
}

std::vector<CommBuffers> allocate(int ranks, std::size_t bytes) {
  std::vector<CommBuffers> buffers(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    check(cudaSetDevice(rank), "choosing a GPU");
    CommBuffers& own = buffers[static_cast<std::size_t>(rank)];
    check(cudaMalloc(&own.in, bytes), "allocating the messages");
    check(cudaMalloc(&own.out, bytes), "allocating the messages");
    // 0x3f00 is 0.5 in bf16: sums are exact, and the bits are those of ordinary activations.
    std::vector<std::uint16_t> halves(bytes / 2, 0x3f00);
    check(cudaMemcpy(own.in, halves.data(), bytes, cudaMemcpyHostToDevice), "filling messages");
    check(cudaMemset(own.out, 0, bytes), "clearing the messages");
  }
  return buffers;
}

/// Throws if an all-reduce of 0.5 over the ranks is not ranks / 2 everywhere.
void check_sums(const std::vector<Gpu>& gpus, const CommCall& call,
                const std::vector<CommBuffers>& buffers) {
  const int ranks = static_cast<int>(buffers.size());
  run_ranks(gpus, ranks, [&](Rank& rank) {
    const CommBuffers& own = buffers[static_cast<std::size_t>(rank.index)];
    for (int i = 0; i < 3; ++i) call.launch(rank, own, check_bytes);
    std::vector<std::uint16_t> sums(check_bytes / 2);
    check(cudaStreamSynchronize(rank.stream), "reducing");
    check(cudaMemcpy(sums.data(), own.out, check_bytes, cudaMemcpyDeviceToHost),
          "reading the sums");
    const float half_ranks = static_cast<float>(ranks) / 2;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &half_ranks, sizeof bits);
    for (const std::uint16_t sum : sums) {
      if (sum != bits >> 16) throw std::runtime_error(call.algorithm + " all_reduce adds wrongly");
    }
  });
}

class CommRun {
 public:
  CommRun(const CommOptions& options, const std::vector<Gpu>& gpus, bool has_peer_access)
      : options_(options),
        gpus_(gpus),
        has_peer_access_(has_peer_access),
        writer_(
            options.out, comm_provenance(gpus, has_peer_access),
            {"operation", "library", "version", "algorithm", "protocol", "launch", "dtype", "nodes",
             "ranks", "bytes", "time_us", "p10_us", "p90_us", "calls", "repeats", "pass"}) {}

  void measure_group(int ranks) {
    const std::vector<CommBuffers> buffers =
        allocate(ranks, std::max(options_.bytes_max, check_bytes) + buffer_slack);
    {
      const NcclGroup group(ranks);
      const PeerAllReduce peers(has_peer_access_ ? buffers : std::vector<CommBuffers>{},
                                peer_bytes_max);
      std::vector<CommCall> calls = group.calls();
      if (has_peer_access_ && !options_.nccl_only) {
        for (const CommCall& call : peers.calls()) calls.push_back(call);
      }
      for (const CommCall& call : calls) {
        if (call.operation == "all_reduce" && is_asked(options_, call.operation))
          check_sums(gpus_, call, buffers);
      }
      const CommStopwatch stopwatch(gpus_, group, buffers);
      for (int pass = 0; pass < 2; ++pass) {
        for (const CommCall& call : calls) measure_call(stopwatch, call, ranks, pass);
      }
    }
    for (const CommBuffers& own : buffers) {
      cudaFree(own.in);
      cudaFree(own.out);
    }
  }

 private:
  void measure_call(const CommStopwatch& stopwatch, const CommCall& call, int ranks, int pass) {
    if (!is_asked(options_, call.operation)) return;
    int point = 0;
    for (const std::size_t bytes : message_sizes(options_)) {
      if (bytes > call.bytes_max || (pass == 1 && point++ % repeat_every != 0)) continue;
      for (const bool in_graph : {true, false}) {
        if (!in_graph && options_.graph_only) continue;
        alarm(stuck_seconds);
        const CommTiming timing = stopwatch.measure(call, bytes, in_graph);
        writer_.write(
            {call.operation, call.library, call.library == "nccl" ? nccl_version_text() : "1",
             call.algorithm, call.protocol, in_graph ? "graph" : "eager", "bf16", "1",
             std::to_string(ranks), std::to_string(bytes), number_text(timing.time_us),
             number_text(timing.p10_us), number_text(timing.p90_us), std::to_string(timing.calls),
             std::to_string(timing.repeats), std::to_string(pass)});
      }
    }
    std::printf("%d GPUs, pass %d: %s %s %s measured\n", ranks, pass, call.library.c_str(),
                call.algorithm.c_str(), call.operation.c_str());
    std::fflush(stdout);
  }

  const CommOptions& options_;
  const std::vector<Gpu>& gpus_;
  bool has_peer_access_;
  DatasetWriter writer_;
};

void run(const CommOptions& options) {
  const std::vector<Gpu> gpus = open_gpus(options.gpus);
  CommRun comm_run(options, gpus, enable_peer_access(static_cast<int>(gpus.size())));
  for (const int ranks : {2, 4, 8})
    if (ranks <= static_cast<int>(gpus.size())) comm_run.measure_group(ranks);
}

void stop_stuck(int) {
  constexpr char message[] = "foretoken-measure-comm: a collective does not end; rows are kept\n";
  static_cast<void>(!write(STDERR_FILENO, message, sizeof message - 1));
  _exit(3);
}

}  // namespace
}  // namespace foretoken::measure

int main(int argc, char** argv) {
  // Loading a kernel while a peer waits for it could wait for that peer.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  signal(SIGALRM, foretoken::measure::stop_stuck);
  const auto fail = [](int status, const std::exception& error) {
    std::fprintf(stderr, "foretoken-measure-comm: %s\n", error.what());
    return status;
  };
  foretoken::measure::CommOptions options;
  try {
    options = foretoken::measure::parse_comm(argc, argv);
  } catch (const std::exception& error) {
    return fail(2, error);
  }
  if (options.out.empty()) {
    std::fputs(foretoken::measure::usage, stderr);
    return 2;
  }
  try {
    foretoken::measure::run(options);
  } catch (const std::logic_error& error) {
    return fail(3, error);
  } catch (const std::exception& error) {
    return fail(1, error);
  }
  return 0;
}

// NCCL on recorded GPUs: a call takes the time that was recorded for its operation, ranks and
// bytes. Ranks meet in calls that no graph holds, whose sums are added up. The last rank is the
// slowest.
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "tests/measure/gpu/nccl.h"
#include "tests/measure/recorded_gpu.hpp"

namespace foretoken::recorded {
namespace {

constexpr double unrecorded_us = 5;   // of the few bytes that align ranks
constexpr double faster_share = 0.8;  // of the slowest rank's time
constexpr std::size_t element_bytes = 2;

}  // namespace

/// What the ranks of a communicator share.
struct Meeting {
  explicit Meeting(int ranks) : inputs(static_cast<std::size_t>(ranks)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void*> inputs;  // of the call at hand, by rank
  double latest_us = 0;             // when its last rank came
  std::size_t came = 0, gone = 0;

  /// Returns the inputs of all ranks, once all have come; they stay until all have gone.
  template <typename Work>
  void meet(int rank, const void* input, double& now_us, const Work& work) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return gone == 0; });
    if (came == 0) latest_us = 0;
    inputs[static_cast<std::size_t>(rank)] = input;
    latest_us = std::max(latest_us, now_us);
    if (++came == inputs.size()) changed.notify_all();
    changed.wait(lock, [&] { return came == inputs.size(); });
    now_us = latest_us;
    lock.unlock();
    work(inputs);
    lock.lock();
    if (++gone == inputs.size()) came = gone = 0;
    changed.notify_all();
  }
};

}  // namespace foretoken::recorded

using namespace foretoken::recorded;

struct ncclComm {
  int rank = 0, ranks = 0;
  std::shared_ptr<Meeting> meeting;
  std::string last_operation = {};  // that all ranks met in, and its bytes
  std::size_t last_bytes = 0;
};

namespace {

/// The sends of a group, which are one all-to-all.
struct Group {
  int depth = 0;
  std::size_t sent_bytes = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};
thread_local Group group;

/// `out` gets the sum of all ranks' `in` if it is not null.
ncclResult_t run_call(const char* operation, std::size_t bytes, const void* in, void* out,
                      ncclComm_t comm, cudaStream_t stream) {
  if (fault_of(operation) != 0) return ncclSystemError;
  if (has_fault("hang")) pause();
  const char* const launch = is_capturing(stream) ? "graph" : "eager";
  Launched launched{.name = operation};
  launched.piece.row = Recording::get().collective(operation, "auto", launch, comm->ranks, bytes);
  launched.us = unrecorded_us;
  launched.share = comm->rank == comm->ranks - 1 ? 1 : faster_share;
  // The same again finds the same sums, and the ranks as far apart.
  const bool is_again = comm->last_operation == operation && comm->last_bytes == bytes;
  if (!is_capturing(stream) && !is_again) {
    comm->last_operation = operation;
    comm->last_bytes = bytes;
    comm->meeting->meet(comm->rank, in, stream->now_us, [&](const auto& inputs) {
      if (out != nullptr) add_up(inputs, out, bytes / element_bytes);
    });
  }
  enqueue(stream, std::move(launched));
  return ncclSuccess;
}

ncclResult_t exchange(std::size_t bytes, bool sends, ncclComm_t comm, cudaStream_t stream) {
  if (group.depth == 0) return run_call("send_recv", bytes, nullptr, nullptr, comm, stream);
  group.sent_bytes += sends ? bytes : 0;
  group.comm = comm;
  group.stream = stream;
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "unhandled system error"; }
const char* ncclGetLastError(ncclComm_t) { return "asked for by the test"; }

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int*) {
  if (fault_of("ncclCommInitAll") != 0) return ncclSystemError;
  const auto meeting = std::make_shared<Meeting>(devices);
  for (int rank = 0; rank < devices; ++rank) comms[rank] = new ncclComm{rank, devices, meeting};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--group.depth > 0) return ncclSuccess;
  const std::size_t bytes = group.sent_bytes;
  group.sent_bytes = 0;
  return run_call("all_to_all", bytes, nullptr, nullptr, group.comm, group.stream);
}

ncclResult_t ncclAllReduce(const void* in, void* out, std::size_t count, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return run_call("all_reduce", element_bytes * count, in, out, comm, stream);
}
ncclResult_t ncclAllGather(const void* in, void*, std::size_t count, ncclDataType_t,
                           ncclComm_t comm, cudaStream_t stream) {
  const auto ranks = static_cast<std::size_t>(comm->ranks);
  return run_call("all_gather", element_bytes * count * ranks, in, nullptr, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* in, void*, std::size_t count, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  const auto ranks = static_cast<std::size_t>(comm->ranks);
  return run_call("reduce_scatter", element_bytes * count * ranks, in, nullptr, comm, stream);
}
ncclResult_t ncclBroadcast(const void* in, void*, std::size_t count, ncclDataType_t, int,
                           ncclComm_t comm, cudaStream_t stream) {
  return run_call("broadcast", element_bytes * count, in, nullptr, comm, stream);
}
ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t, int, ncclComm_t comm,
                      cudaStream_t stream) {
  return exchange(element_bytes * count, true, comm, stream);
}
ncclResult_t ncclRecv(void*, std::size_t count, ncclDataType_t, int, ncclComm_t comm,
                      cudaStream_t stream) {
  return exchange(element_bytes * count, false, comm, stream);
}

}  // extern "C"

// NCCL calls in bf16. NCCL_ALGO and NCCL_PROTO, where the caller set them, are what the rows say.
#include "nccl_group.hpp"

#include <cstdlib>
#include <stdexcept>

namespace foretoken::measure {
namespace {

constexpr std::size_t element_bytes = 2;  // bf16
constexpr std::size_t align_elements = 4;

void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result) + " (" +
                           ncclGetLastError(nullptr) + ")");
}

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "auto" : value;
}

}  // namespace

NcclGroup::NcclGroup(int ranks) : comms_(static_cast<std::size_t>(ranks)) {
  check_nccl(ncclCommInitAll(comms_.data(), ranks, nullptr), "making the communicator");
}

NcclGroup::~NcclGroup() {
  for (const ncclComm_t comm : comms_) ncclCommDestroy(comm);
}

void NcclGroup::align(const Rank& rank, const CommBuffers& buffers) const {
  check_nccl(ncclAllReduce(buffers.in, buffers.out, align_elements, ncclBfloat16, ncclSum,
                           comms_[static_cast<std::size_t>(rank.index)], rank.stream),
             "aligning the ranks");
}

std::vector<CommCall> NcclGroup::calls() const {
  const std::size_t ranks = comms_.size();
  const auto call = [](const char* operation, auto launch) {
    return CommCall{operation,       "nccl", setting("NCCL_ALGO"), setting("NCCL_PROTO"),
                    ~std::size_t{0}, launch};
  };
  std::vector<CommCall> calls;
  calls.push_back(call("all_reduce", [this](const Rank& rank, const CommBuffers& buffers,
                                            std::size_t bytes) {
    check_nccl(ncclAllReduce(buffers.in, buffers.out, bytes / element_bytes, ncclBfloat16, ncclSum,
                             comms_[static_cast<std::size_t>(rank.index)], rank.stream),
               "all_reduce");
  }));
  calls.push_back(call("all_gather", [this, ranks](const Rank& rank, const CommBuffers& buffers,
                                                   std::size_t bytes) {
    check_nccl(ncclAllGather(buffers.in, buffers.out, bytes / element_bytes / ranks, ncclBfloat16,
                             comms_[static_cast<std::size_t>(rank.index)], rank.stream),
               "all_gather");
  }));
  calls.push_back(call("reduce_scatter", [this, ranks](const Rank& rank, const CommBuffers& buffers,
                                                       std::size_t bytes) {
    check_nccl(
        ncclReduceScatter(buffers.in, buffers.out, bytes / element_bytes / ranks, ncclBfloat16,
                          ncclSum, comms_[static_cast<std::size_t>(rank.index)], rank.stream),
        "reduce_scatter");
  }));
  calls.push_back(call(
      "all_to_all", [this, ranks](const Rank& rank, const CommBuffers& buffers, std::size_t bytes) {
        const ncclComm_t comm = comms_[static_cast<std::size_t>(rank.index)];
        const std::size_t part = bytes / ranks;
        check_nccl(ncclGroupStart(), "all_to_all");
        for (std::size_t peer = 0; peer < ranks; ++peer) {
          const int to = static_cast<int>(peer);
          check_nccl(ncclSend(buffers.in + peer * part, part / element_bytes, ncclBfloat16, to,
                              comm, rank.stream),
                     "all_to_all");
          check_nccl(ncclRecv(buffers.out + peer * part, part / element_bytes, ncclBfloat16, to,
                              comm, rank.stream),
                     "all_to_all");
        }
        check_nccl(ncclGroupEnd(), "all_to_all");
      }));
  calls.push_back(
      call("broadcast", [this](const Rank& rank, const CommBuffers& buffers, std::size_t bytes) {
        check_nccl(ncclBroadcast(buffers.in, buffers.out, bytes / element_bytes, ncclBfloat16, 0,
                                 comms_[static_cast<std::size_t>(rank.index)], rank.stream),
                   "broadcast");
      }));
  if (ranks != 2) return calls;
  calls.push_back(call("send_recv", [this](const Rank& rank, const CommBuffers& buffers,
                                           std::size_t bytes) {
    const ncclComm_t comm = comms_[static_cast<std::size_t>(rank.index)];
    const std::size_t count = bytes / element_bytes;
    check_nccl(rank.index == 0 ? ncclSend(buffers.in, count, ncclBfloat16, 1, comm, rank.stream)
                               : ncclRecv(buffers.out, count, ncclBfloat16, 0, comm, rank.stream),
               "send_recv");
  }));
  return calls;
}

std::string nccl_version_text() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "reading NCCL's version");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace foretoken::measure

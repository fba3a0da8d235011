#include "sim/app/mpi/rank_messages.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <list>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

// From the last rank's stop to MPI_Finalize takes milliseconds; a dead rank never comes.
constexpr unsigned finalize_patience_s = 10;

volatile std::sig_atomic_t status_at_alarm = 0;

void on_alarm(int) { _exit(status_at_alarm); }

std::size_t own_share_of_processors() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks = 1;
  MPI_Comm_size(node, &ranks);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, node);
  MPI_Comm_free(&node);
  const auto sharing = std::ranges::count_if(all, [&](const cpu_set_t& other) {
    cpu_set_t both;
    CPU_AND(&both, &mine, &other);
    return CPU_COUNT(&both) > 0;
  });
  const auto processors = static_cast<std::size_t>(CPU_COUNT(&mine));
  return std::max<std::size_t>(1, processors / static_cast<std::size_t>(std::max(sharing, {1})));
}

}  // namespace

struct RankMessages::Transfers {
  struct Transfer {
    MPI_Request request;
    Received message;
  };
  std::list<Transfer> outgoing, incoming;  // MPI holds on to their texts

  static bool is_over(Transfer& transfer) {
    int over = 0;
    MPI_Test(&transfer.request, &over, MPI_STATUS_IGNORE);
    return over != 0;
  }
};

RankMessages::RankMessages(int* argc, char*** argv) : transfers_(std::make_unique<Transfers>()) {
  MPI_Init(argc, argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  processors_ = own_share_of_processors();
}

RankMessages::~RankMessages() = default;

void RankMessages::send(int rank, MessageKind kind, std::string text) {
  transfers_->outgoing.remove_if(Transfers::is_over);
  auto& transfer = transfers_->outgoing.emplace_back();
  transfer.message = {rank, kind, std::move(text)};
  MPI_Isend(transfer.message.text.data(), static_cast<int>(transfer.message.text.size()), MPI_BYTE,
            rank, static_cast<int>(kind), MPI_COMM_WORLD, &transfer.request);
}

std::optional<RankMessages::Received> RankMessages::receive() {
  for (;;) {
    int is_there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
    if (is_there == 0) break;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    auto& transfer = transfers_->incoming.emplace_back();
    transfer.message = {status.MPI_SOURCE, static_cast<MessageKind>(status.MPI_TAG),
                        std::string(static_cast<std::size_t>(bytes), '\0')};
    MPI_Irecv(transfer.message.text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
              MPI_COMM_WORLD, &transfer.request);
  }
  transfers_->outgoing.remove_if(Transfers::is_over);
  for (auto transfer = transfers_->incoming.begin(); transfer != transfers_->incoming.end();
       ++transfer) {
    if (!Transfers::is_over(*transfer)) continue;
    Received message = std::move(transfer->message);
    transfers_->incoming.erase(transfer);
    return message;
  }
  return std::nullopt;
}

void RankMessages::finish(int status) {
  std::fflush(nullptr);
  status_at_alarm = status;
  std::signal(SIGALRM, on_alarm);
  alarm(finalize_patience_s);
  MPI_Finalize();
  alarm(0);
}

void RankMessages::abandon(int status) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

}  // namespace foretoken

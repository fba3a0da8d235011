// Messages between MPI ranks that never block: a rank that has died must not take the one that
// waits for it along. Texts of any size; those of one sender arrive in order. Between calls nothing
// spins, as MPI's own waiting would, on a processor that a run needs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace foretoken {

enum class MessageKind { hello, run, done, alive, stop };

class RankMessages {
 public:
  struct Received {
    int rank;
    MessageKind kind;
    std::string text;
  };

  /// MPI_Init; may change the arguments.
  RankMessages(int* argc, char*** argv);
  ~RankMessages();
  RankMessages(const RankMessages&) = delete;
  RankMessages& operator=(const RankMessages&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// Processors that this rank may use, shared out among the ranks that may use them too.
  [[nodiscard]] std::size_t processors() const { return processors_; }

  /// Returns at once; the text is on its way until the other side takes it.
  void send(int rank, MessageKind kind, std::string text);
  /// A message that has come in whole.
  std::optional<Received> receive();

  /// MPI_Finalize. If other ranks do not come to it in time, the process ends with `status`
  /// without.
  void finish(int status);
  /// Ends the whole job, because its other end has gone.
  [[noreturn]] void abandon(int status);

 private:
  struct Transfers;  // under way; keeps mpi.h out of this header
  std::unique_ptr<Transfers> transfers_;
  int rank_ = 0, ranks_ = 1;
  std::size_t processors_ = 1;
};

}  // namespace foretoken

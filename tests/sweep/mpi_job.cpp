#include "tests/sweep/mpi_job.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace foretoken {
namespace {

std::string environment_of(const std::string& process) {
  return text_of("/proc/" + process + "/environ");
}

/// The process that is rank 1 of the job that writes `store`; 0 while there is none.
pid_t rank_1_of(const std::filesystem::path& store) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string process = entry.path().filename();
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string command = text_of(entry.path() / "cmdline");
    if (command.find(FORETOKEN_MPI_PROGRAM) != 0) continue;  // neither mpirun nor a run
    if (command.find(store.string()) == std::string::npos) continue;
    if (environment_of(process).find("OMPI_COMM_WORLD_RANK=1") == std::string::npos) continue;
    return std::stoi(process);
  }
  return 0;
}

}  // namespace

Words words_of(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words two_ranks(const Words& options) {
  // In a container everything is root, and there may be fewer processors than ranks.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  return words_of(words_of({FORETOKEN_MPIRUN, "-n", "2", "--oversubscribe"}, options),
                  {FORETOKEN_MPI_PROGRAM});
}

bool kill_rank_1(const ProgramRun& job, const std::filesystem::path& store, std::int64_t rows) {
  while (finished_runs(store) < rows) {
    if (job.has_ended()) return false;
    usleep(20'000);
  }
  const pid_t rank = rank_1_of(store);
  return rank > 0 && kill(rank, SIGKILL) == 0;
}

}  // namespace foretoken

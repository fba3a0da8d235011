// foretoken-mpi under mpirun with two ranks on one machine, and how to kill one of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/sweep/foretoken_process.hpp"

namespace foretoken {

using Words = std::vector<std::string>;

Words words_of(Words words, const Words& more);

/// "mpirun -n 2 … foretoken-mpi" with `options` of mpirun's.
Words two_ranks(const Words& options = {});

/// Waits until `rows` runs of the store are finished and kills rank 1; false: the job was faster.
bool kill_rank_1(const ProgramRun& job, const std::filesystem::path& store, std::int64_t rows);

}  // namespace foretoken

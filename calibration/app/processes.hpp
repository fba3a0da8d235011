// Work in child processes, so that families and folds train side by side on every core: LibTorch
// and OpenBLAS stay single-threaded, which keeps results the same however many run at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace foretoken {

/// What `work(i)` returns for i from 0 to count - 1, in that order; at most `processes` run at
/// once, each in a child that shares what was loaded so far. With 1 everything runs in this
/// process. The first failure, in that order, is thrown here: ConfigError and PredictionError as
/// such, anything else (a killed child too) as std::runtime_error. Call before any training here:
/// a child of a process that runs threads could hang.
std::vector<std::string> in_processes(std::size_t count, int processes,
                                      const std::function<std::string(std::size_t)>& work);

}  // namespace foretoken

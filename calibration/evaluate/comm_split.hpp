// The ways measured communication is divided into what fits and what judges. Never by row: versions
// and repetitions of one point stay together.
#pragma once

#include <string>
#include <vector>

#include "calibration/evaluate/comm_rows.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// sizes: one octave of message sizes in three. ranks: 8 GPUs of a node from 2 and 4. gpu: each GPU
/// in turn. nodes: 16 ranks on two nodes from fewer ranks on two nodes.
enum class CommSplit { sizes, ranks, gpu, nodes };
template <>
struct EnumNames<CommSplit> {
  static constexpr auto names = std::to_array<std::string_view>({"sizes", "ranks", "gpu", "nodes"});
};

struct CommFold {
  std::string name;
  std::vector<CommRow> training, judged;
  bool is_new_gpu = false;  // no training row is of a judged row's GPU
};

/// Of the split by sizes.
bool is_held_out_size(double bytes);

/// Rows that only judge are in none. Folds without rows to judge or to train on are left out.
std::vector<CommFold> comm_folds(const std::vector<CommRow>& rows, CommSplit split);

}  // namespace foretoken

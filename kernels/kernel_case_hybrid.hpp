// Readers of `foretoken predict` for the kernels of hybrid_kernels.hpp and for the verification of
// drafts. For kernel_case.cpp only.
#pragma once

#include "kernels/kernel.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

Kernel read_state_scan(TableReader& table);
Kernel read_state_convolution(TableReader& table);
Kernel read_key_indexer(TableReader& table);
Kernel read_sparse_attention(TableReader& table);
Kernel read_hyper_connection(TableReader& table);
Kernel read_draft_verification(TableReader& table);

}  // namespace foretoken

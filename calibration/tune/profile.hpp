// Equation 6's nine numbers about a kernel, which policies learn from and rewriters are told. The
// paper lost their names with its formulas. There are two kinds: by costs, which need no rights on
// the GPU (pool.hpp), and by Nsight Compute's counters (counters.hpp).
#pragma once

#include <array>
#include <string_view>

namespace foretoken::tune {

inline constexpr int profile_size = 9;
using Profile = std::array<double, profile_size>;

/// Where in a Profile the numbers stand that v2's masks look at, in percent.
inline constexpr int profile_sm = 0, profile_dram = 1, profile_l2 = 2;

using ProfileNames = std::array<std::string_view, profile_size>;
inline constexpr ProfileNames cost_profile_names = {"share of peak math, %",
                                                    "share of DRAM bandwidth, %",
                                                    "share of L2 bandwidth, %",
                                                    "filled part of last wave, %",
                                                    "occupancy, %",
                                                    "share of tensor peak, %",
                                                    "L2 traffic beyond compulsory, %",
                                                    "spilled bytes a thread",
                                                    "registers a thread"};
inline constexpr ProfileNames counted_profile_names = {
    "SM busy, %",        "DRAM busy, %",
    "L2 busy, %",        "L1 busy, %",
    "warps resident, %", "tensor pipe busy, %",
    "L2 hits, %",        "bank conflicts, % of shared accesses",
    "registers a thread"};

}  // namespace foretoken::tune

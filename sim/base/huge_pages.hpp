// Memory in pages of 2 MB instead of 4 KB, where the system has them.
//
// A run walks through hundreds of megabytes of small objects (sequences, cached prefixes, memoised
// prices) in no order; with small pages a fifth of its time goes into finding where each page lies.
#pragma once

namespace foretoken {

/// Sets aside 1 GiB of address space for the heap (no memory: pages come as they are touched) and
/// asks the system to back it with huge pages. Call it once, first thing in `main`. Changes nothing
/// where the C library or the system does not have them, or the address space is limited.
void use_huge_pages();

}  // namespace foretoken

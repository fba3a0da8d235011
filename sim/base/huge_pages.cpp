#include "sim/base/huge_pages.hpp"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace foretoken {

#ifdef __GLIBC__

// glibc does this by itself, but only when the environment variable GLIBC_TUNABLES says so before
// the program starts.
void use_huge_pages() {
  constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
  constexpr int reserved_bytes = 1 << 30;
  const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest it takes: arrays above are mapped one by one
  mallopt(M_TRIM_THRESHOLD, -1);        // nothing goes back: it would be what is set aside here
  mallopt(M_TOP_PAD, reserved_bytes);
  void* volatile enough_to_grow = std::malloc(256 << 10);
  std::free(enough_to_grow);
  mallopt(M_TOP_PAD, 128 << 10);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t aligned = (begin + huge_page - 1) / huge_page * huge_page;
  if (end > aligned) madvise(reinterpret_cast<void*>(aligned), end - aligned, MADV_HUGEPAGE);
}

#else

void use_huge_pages() {}

#endif

}  // namespace foretoken

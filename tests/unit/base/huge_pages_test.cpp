#include "sim/base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace foretoken {
namespace {

/// The flags that the kernel has for the mapping of `address`, as "rd wr mr mw me ac hg"; "" where
/// it tells none.
std::string flags_of_mapping(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream mappings("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(mappings, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-')
      is_inside = begin <= wanted && wanted < end;
    if (is_inside && line.starts_with("VmFlags:")) return line.substr(8);
  }
  return "";
}

TEST(HugePages, BackWhatIsAllocatedAfterwards) {
  use_huge_pages();
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's allocator has no heap of the C library's";
#endif
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good())
    GTEST_SKIP() << "this system has no transparent huge pages";
  const auto array = std::make_unique<char[]>(8 << 20);
  EXPECT_NE(flags_of_mapping(array.get() + (4 << 20)).find(" hg"), std::string::npos)
      << flags_of_mapping(array.get() + (4 << 20));
}

}  // namespace
}  // namespace foretoken

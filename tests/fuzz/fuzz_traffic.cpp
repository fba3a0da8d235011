// Any bytes as a server's metrics, a query's answer or ServeGen's two files (what follows an empty
// line is the second): reading ends in traffic that a [workload] can be fitted to, which then reads
// back, or in a ConfigError.
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "workloads/requests/statistics_format.hpp"
#include "workloads/requests/workload.hpp"

namespace {

using namespace foretoken;

void check(const ObservedTraffic& traffic) {
  std::vector<std::string> notes;
  const Value fitted = fitted_workload(traffic, 10, notes);
  Diagnostics diagnostics;
  TableReader table(fitted, diagnostics, "workload");
  const auto workload = read_workload(table, {});
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    FORETOKEN_CHECK(false, "a fitted workload is refused: {}", error.what());
  }
}

}  // namespace

FORETOKEN_FUZZ(traffic)(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = bytes.find("\n\n");
  const std::size_t first = cut == std::string_view::npos ? size : cut;
  const MemoryFile one(data, first);
  const MemoryFile two(data + std::min(size, first + 2), size - std::min(size, first + 2));
  std::vector<std::filesystem::path> files = {one.path()};
  if (first + 2 < size) files.emplace_back(two.path());
  for (const char* format : {"prometheus", "servegen"}) {
    try {
      check(load_traffic(files, format, {}, false));
    } catch (const ConfigError&) {
      continue;  // what garbage has to end in
    }
  }
  return 0;
}

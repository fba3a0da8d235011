// How far off prices are, by what they price: family, GPU, framework, kernel source, kind of batch
// and length of the launch. A table of the held-out layouts (foretoken-calibrate evaluate
// --promises writes it), so that a source which is hard says so, and an easy one beside it does not
// pay for it. Of GPUs that nobody measured the artifacts know an error alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/implementation.hpp"
#include "kernels/kernel.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

enum class BatchKind : std::uint8_t { any, prompts, decodes, mixed };
template <>
struct EnumNames<BatchKind> {
  static constexpr auto names =
      std::to_array<std::string_view>({"any", "prompts", "decodes", "mixed"});
};

enum class LaunchLength : std::uint8_t { any, below_10_us, below_100_us, below_1_ms, longer };
template <>
struct EnumNames<LaunchLength> {
  static constexpr auto names =
      std::to_array<std::string_view>({"any", "< 10 us", "< 100 us", "< 1 ms", "longer"});
};

/// Launches whose prices are about equally good.
struct ErrorCell {
  std::string family, gpu;
  Framework framework = Framework::vllm;
  KernelSource source = KernelSource::automatic;
  BatchKind batch = BatchKind::any;
  LaunchLength length = LaunchLength::any;  // any: what no other cell of family and GPU holds

  friend auto operator<=>(const ErrorCell&, const ErrorCell&) = default;
};

/// The cell of a launch that is priced at `time`.
ErrorCell error_cell(std::string_view family, const Kernel& kernel, const GpuSpec& gpu,
                     Seconds time);
/// What holds the launches of a family on a GPU that have no cell of their own.
ErrorCell rest_cell(std::string_view family, std::string_view gpu);

class PriceErrors {
 public:
  struct Entry {
    double error = 0;  // relative; twice as much is what nine of ten prices stay within
    std::int64_t launches = 0;
  };
  using Entries = std::map<ErrorCell, Entry>;

  explicit PriceErrors(Entries entries) : entries_(std::move(entries)) {}
  /// Throws ConfigError for a damaged file.
  static PriceErrors read(std::string_view text, const std::string& file);
  /// The table inside the program.
  static const PriceErrors& built_in();

  /// The cell's, or the rest's; nothing of families and GPUs without held-out launches.
  [[nodiscard]] std::optional<double> find(const ErrorCell& cell) const;
  [[nodiscard]] Value json(Value provenance) const;

 private:
  Entries entries_;
};

}  // namespace foretoken

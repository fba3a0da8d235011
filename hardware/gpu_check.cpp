// Is a GPU spec plausible? Three kinds of question, told as findings and never as an exception:
// is each figure within reach of the built-in parts (a unit that is 1,000 times off is not), do
// figures fit each other (L2 against DRAM, power against rate), do they obey how GPUs are built
// (threads in warps, formats that an architecture has). A part that goes beyond all known ones is
// what the simulator is for, so a modest excess is a note and no more.
#include <algorithm>
#include <cmath>

#include "hardware/gpu.hpp"

namespace foretoken {
namespace {

using Level = GpuFinding::Level;

// How far outside the range of known parts a figure may lie. The parts span 2020 to 2025 and their
// figures grew by at most 3 from one generation to the next; a wrong SI prefix is a factor 1,000.
constexpr double note_factor = 1.0;
constexpr double warning_factor = 3.0;
constexpr double error_factor = 20.0;

// The same for ratios of figures, which vary less than the figures do.
constexpr double ratio_warning_factor = 1.5;
constexpr double ratio_error_factor = 50.0;

/// A figure of a part (0: the part has none) in the unit messages use.
struct Figure {
  std::string_view key;
  std::string_view unit;
  double (*of)(const GpuSpec&);
};

double rate_of(const GpuSpec& gpu, DType dtype) {
  return gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
}

constexpr auto figures = std::to_array<Figure>({
    {"sm.count", "SMs", [](const GpuSpec& g) { return double(g.sm_count); }},
    {"sm.clock", "MHz", [](const GpuSpec& g) { return g.clock.value() / 1e6; }},
    {"sm.fma_ops_per_cycle", "a cycle", [](const GpuSpec& g) { return g.fma_ops_per_cycle_sm; }},
    {"sm.xu_ops_per_cycle", "a cycle", [](const GpuSpec& g) { return g.xu_ops_per_cycle_sm; }},
    {"sm.shared_bytes_per_cycle", "B a cycle",
     [](const GpuSpec& g) { return g.shared_bytes_per_cycle_sm; }},
    {"sm.shared_size", "KiB", [](const GpuSpec& g) { return g.shared_size_sm.value() / 1024; }},
    {"sm.registers", "registers", [](const GpuSpec& g) { return double(g.registers_sm); }},
    {"sm.threads", "threads", [](const GpuSpec& g) { return double(g.threads_sm); }},
    {"sm.ctas", "CTAs", [](const GpuSpec& g) { return double(g.ctas_sm); }},
    {"tensor_ops_per_cycle_sm.bf16", "a cycle",
     [](const GpuSpec& g) { return rate_of(g, DType::bf16); }},
    {"memory.dram_bandwidth", "GB/s",
     [](const GpuSpec& g) { return g.dram_bandwidth.value() / 1e9; }},
    {"memory.capacity", "GB", [](const GpuSpec& g) { return g.memory_capacity.value() / 1e9; }},
    {"memory.l2_bandwidth", "GB/s", [](const GpuSpec& g) { return g.l2_bandwidth.value() / 1e9; }},
    {"memory.l2_size", "MiB", [](const GpuSpec& g) { return g.l2_size.value() / 1048576; }},
    {"links.nvlink_bandwidth", "GB/s",
     [](const GpuSpec& g) { return g.nvlink_bandwidth.value() / 1e9; }},
    {"links.pcie_bandwidth", "GB/s",
     [](const GpuSpec& g) { return g.pcie_bandwidth.value() / 1e9; }},
    {"power", "W", [](const GpuSpec& g) { return g.power.value(); }},
    {"price", "USD/h", [](const GpuSpec& g) { return g.price ? g.price->value() : 0.0; }},
    {"launch_latency", "us", [](const GpuSpec& g) { return g.launch_latency.value() * 1e6; }},
});

/// A ratio of two figures, and what to look at when it is odd.
struct Ratio {
  Figure figure;
  std::string_view what;
  std::string_view remedy;
};

constexpr auto ratios = std::to_array<Ratio>({
    {{"memory.dram_bandwidth", "FLOP per byte",
      [](const GpuSpec& g) {
        return g.tensor_rate(DType::bf16).value() / g.dram_bandwidth.value();
      }},
     "bf16 tensor rate over DRAM bandwidth",
     "check dram_bandwidth, clock and the bf16 rate, which counts a multiply-add as 2 and must be "
     "dense"},
    {{"memory.capacity", "ms",
      [](const GpuSpec& g) { return 1e3 * (g.memory_capacity / g.dram_bandwidth).value(); }},
     "time to read all of memory once",
     "check capacity and dram_bandwidth"},
    {{"memory.l2_bandwidth", "B per cycle and SM",
      [](const GpuSpec& g) { return g.l2_bandwidth.value() / (g.clock.value() * g.sm_count); }},
     "L2 bandwidth of one SM",
     "check l2_bandwidth, clock and count"},
    {{"power", "TFLOP/s per W",
      [](const GpuSpec& g) { return g.tensor_rate(DType::bf16).value() / 1e12 / g.power.value(); }},
     "bf16 tensor rate over power",
     "check power, clock and the bf16 rate"},
});

struct Range {
  double low = 0.0;
  double high = 0.0;
  std::string_view lowest;   // the part
  std::string_view highest;  // the part
};

Range range_of(const Figure& figure, const std::vector<GpuSpec>& parts) {
  Range range;
  for (const GpuSpec& part : parts) {
    const double value = figure.of(part);
    if (value <= 0.0) continue;
    if (range.lowest.empty() || value < range.low) range.low = value, range.lowest = part.name;
    if (range.highest.empty() || value > range.high) range.high = value, range.highest = part.name;
  }
  return range;
}

/// By which factor `value` lies outside `range`; 1 inside.
double excess(double value, const Range& range) {
  return std::max({1.0, range.low / value, value / range.high});
}

/// "4.9 GB/s is 61 times below the lowest known part (l4: 300 GB/s)".
std::string distance_text(double value, std::string_view unit, const Range& range) {
  const bool below = value < range.low;
  const double factor = excess(value, range);
  const std::string times =
      factor < 10 ? fmt::format("{:.2g}", factor) : fmt::format("{:.0f}", factor);
  return fmt::format("{:.4g} {} is {} times {} known part ({}: {:.4g} {})", value, unit, times,
                     below ? "below the lowest" : "above the highest",
                     below ? range.lowest : range.highest, below ? range.low : range.high, unit);
}

/// What a wrong SI prefix would explain, or "".
std::string prefix_remedy(double value, std::string_view unit, const Range& range) {
  for (const double factor : {1e3, 1e-3, 1e6, 1e-6}) {
    if (excess(value * factor, range) > warning_factor) continue;
    return fmt::format("; {:.4g} {} would fit: check the unit", value * factor, unit);
  }
  return "; check the number and its unit";
}

class GpuChecker {
 public:
  GpuChecker(const GpuSpec& gpu, std::vector<GpuSpec> parts)
      : gpu_(gpu), parts_(std::move(parts)) {}

  std::vector<GpuFinding> run() {
    for (const Figure& figure : figures) check_figure(figure);
    for (const Ratio& ratio : ratios) check_ratio(ratio);
    check_bandwidths();
    check_tensor_formats();
    check_tensor_order();
    check_tensor_granularity();
    check_residency();
    std::ranges::stable_sort(findings_, {}, &GpuFinding::level);
    return std::move(findings_);
  }

 private:
  void add(Level level, std::string_view key, std::string message) {
    findings_.push_back({level, std::string(key), std::move(message)});
  }

  void check_figure(const Figure& figure) {
    const double value = figure.of(gpu_);
    if (value <= 0.0) return;
    const Range range = range_of(figure, parts_);
    const double factor = excess(value, range);
    if (factor <= note_factor) return;
    const std::string distance = distance_text(value, figure.unit, range);
    if (factor > error_factor) {
      add(Level::error, figure.key, distance + prefix_remedy(value, figure.unit, range));
    } else if (factor > warning_factor) {
      add(Level::warning, figure.key, distance + "; check the number and its unit");
    } else {
      add(Level::note, figure.key, distance);
    }
  }

  void check_ratio(const Ratio& ratio) {
    const double value = ratio.figure.of(gpu_);
    if (value <= 0.0) return;  // no bf16 path: reported by check_tensor_formats
    const Range range = range_of(ratio.figure, parts_);
    const double factor = excess(value, range);
    if (factor <= ratio_warning_factor) return;
    add(factor > ratio_error_factor ? Level::error : Level::warning, ratio.figure.key,
        fmt::format("{}: {}; {}", ratio.what, distance_text(value, ratio.figure.unit, range),
                    ratio.remedy));
  }

  void check_bandwidths() {
    const double dram = gpu_.dram_bandwidth.value() / 1e9;
    const double l2 = gpu_.l2_bandwidth.value() / 1e9;
    if (l2 < dram) {
      add(Level::error, "memory.l2_bandwidth",
          fmt::format(
              "{:.4g} GB/s is below the DRAM bandwidth of {:.4g} GB/s, which passes through "
              "the L2; check both",
              l2, dram));
    }
    const double nvlink = gpu_.nvlink_bandwidth.value() / 1e9;
    const double pcie = gpu_.pcie_bandwidth.value() / 1e9;
    if (nvlink > 0.0 && nvlink < pcie) {
      add(Level::warning, "links.nvlink_bandwidth",
          fmt::format("{:.4g} GB/s is below PCIe's {:.4g} GB/s; give the sum over the links of one "
                      "GPU, one direction, or omit it",
                      nvlink, pcie));
    }
  }

  void check_tensor_formats() {
    if (rate_of(gpu_, DType::bf16) == 0.0) {
      add(Level::error, "tensor_ops_per_cycle_sm.bf16",
          "is missing or 0: bf16 models cannot be priced on this part");
    }
    if (gpu_.vendor != GpuVendor::nvidia) return;
    // CUDA programming guide: FP8 tensor cores came with compute capability 8.9, FP4 with 10.0.
    require_capability(DType::fp8, 89, "8.9 (Ada)");
    require_capability(DType::nvfp4, 100, "10.0 (Blackwell)");
    require_capability(DType::mxfp4, 100, "10.0 (Blackwell)");
  }

  void require_capability(DType dtype, int capability, std::string_view name) {
    if (rate_of(gpu_, dtype) == 0.0 || gpu_.compute_capability >= capability) return;
    add(Level::warning, fmt::format("tensor_ops_per_cycle_sm.{}", enum_name(dtype)),
        fmt::format("compute capability {}.{} has no {} tensor path, which came with {}; omit the "
                    "rate or raise compute_capability",
                    gpu_.compute_capability / 10, gpu_.compute_capability % 10, enum_name(dtype),
                    name));
  }

  /// A narrower format that is slower than a wider one is a mistake or a crippled path.
  void check_tensor_order() {
    check_not_slower(DType::fp8, DType::bf16, Level::warning);
    check_not_slower(DType::nvfp4, DType::fp8, Level::warning);
    check_not_slower(DType::mxfp4, DType::fp8, Level::warning);
    check_not_slower(DType::int8, DType::bf16, Level::note);  // b300-sxm and gb300 gave it up
    check_not_slower(DType::bf16, DType::fp32, Level::warning);
  }

  void check_not_slower(DType narrow, DType wide, Level level) {
    const double rate = rate_of(gpu_, narrow);
    const double reference = rate_of(gpu_, wide);
    if (rate == 0.0 || rate >= reference) return;
    add(level, fmt::format("tensor_ops_per_cycle_sm.{}", enum_name(narrow)),
        fmt::format("{} per cycle is below {}'s {}; check that both are dense and per cycle and SM",
                    rate, enum_name(wide), reference));
  }

  /// Tensor cores are arrays of powers of two: a rate has the form 2^k or 3 * 2^k.
  void check_tensor_granularity() {
    for (std::size_t i = 0; i < dtype_count; ++i) {
      const auto dtype = static_cast<DType>(i);
      double odd = gpu_.tensor_ops_per_cycle_sm[i];
      if (odd == 0.0 || rate_format(dtype) != dtype) continue;
      while (odd >= 2.0 && std::fmod(odd, 2.0) == 0.0) odd /= 2.0;
      if (odd == 1.0 || odd == 3.0) continue;
      add(Level::note, fmt::format("tensor_ops_per_cycle_sm.{}", enum_name(dtype)),
          fmt::format(
              "{} per cycle is not a power of two, unlike all tensor cores; check the rate, count "
              "and clock it was derived from",
              gpu_.tensor_ops_per_cycle_sm[i]));
    }
  }

  void check_residency() {
    const int warp = gpu_.vendor == GpuVendor::amd ? 64 : 32;
    if (gpu_.threads_sm % warp != 0) {
      add(Level::error, "sm.threads",
          fmt::format("{} is not a multiple of the {} threads of a {}", gpu_.threads_sm, warp,
                      warp == 64 ? "wave" : "warp"));
    }
    if (gpu_.ctas_sm > gpu_.threads_sm / warp) {
      add(Level::error, "sm.ctas",
          fmt::format("{} CTAs do not fit {} resident threads, a CTA having at least {}",
                      gpu_.ctas_sm, gpu_.threads_sm, warp));
    }
    if (gpu_.registers_sm < gpu_.threads_sm * 16) {
      add(Level::warning, "sm.registers",
          fmt::format("{} registers leave {} to each of {} threads; known parts have 32 or more "
                      "(count 32-bit registers, not bytes)",
                      gpu_.registers_sm, gpu_.registers_sm / gpu_.threads_sm, gpu_.threads_sm));
    }
  }

  const GpuSpec& gpu_;
  std::vector<GpuSpec> parts_;
  std::vector<GpuFinding> findings_;
};

}  // namespace

std::vector<GpuFinding> check_gpu(const GpuSpec& gpu) {
  std::vector<GpuSpec> parts;
  for (const std::string& name : gpu_names()) parts.push_back(load_gpu(name, {}));
  return GpuChecker(gpu, std::move(parts)).run();
}

}  // namespace foretoken

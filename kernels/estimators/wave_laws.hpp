// The wave model's constants, fitted to measured launches as RaMP fits Equation 6: by kernel
// family, framework and source, on each GPU that was measured and for all of them together. What
// nobody measured on a GPU is priced by the constants of all GPUs and that GPU's specification.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "kernels/estimators/launch_waves.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// Whose launches a law is of. Framework and source are as resolve_implementation() has them;
/// nothing = of all. `gpu` "" = of all.
struct WaveLawKey {
  std::string family;
  std::optional<Implementation> implementation;  // its is_cold plays no part
  std::string gpu;
  friend bool operator<(const WaveLawKey& a, const WaveLawKey& b);
};

struct WaveLaw {
  /// What a column's seconds count; none below 0, so that no more work takes less time.
  std::array<double, wave_column_count> constants{};
  /// Mean relative error on layouts held out, of a law of all GPUs on GPUs left out; 0: not known.
  double error = 0;

  [[nodiscard]] Seconds time(const LaunchWaves& waves) const;
};

class WaveLaws {
 public:
  using Laws = std::map<WaveLawKey, WaveLaw>;
  WaveLaws(Laws laws, Value provenance)
      : laws_(std::move(laws)), provenance_(std::move(provenance)) {}

  /// The law nearest to a kernel: of its source on `gpu` (`known`, where `gpu` is a variant of that
  /// part); of its source; of its family on any GPU. nullptr: nobody measured its family.
  struct Found {
    const WaveLaw* law = nullptr;
    bool is_of_gpu = false;
  };
  [[nodiscard]] Found find(std::string_view family, const Kernel& kernel, const GpuSpec& gpu,
                           const GpuSpec* known = nullptr) const;

  [[nodiscard]] const Laws& all() const { return laws_; }
  [[nodiscard]] std::string text() const;  // JSON, as read_wave_laws() takes it

 private:
  Laws laws_;
  Value provenance_;
};

/// Throws ConfigError for another format, version or a constant below 0.
WaveLaws read_wave_laws(std::string_view text, const std::string& file);

/// Those inside the program: calibration/artifacts/baselines/wave.json.
const WaveLaws& embedded_wave_laws();

}  // namespace foretoken

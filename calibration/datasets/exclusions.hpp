// Rows of the public tables that measure something else than the kernel they name.
#pragma once

#include <optional>
#include <string_view>

#include "calibration/datasets/dataset.hpp"

namespace foretoken {

/// Why a sample must not be used for training, fitting or scoring; nullopt for a sound one.
std::optional<std::string_view> exclusion_reason(const Sample& sample, const GpuSpec& gpu);

}  // namespace foretoken

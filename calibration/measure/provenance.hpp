// Where a dataset comes from: the lines "# key: value" that open every file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpu.hpp"

namespace foretoken::measure {

using Provenance = std::vector<std::pair<std::string, std::string>>;

/// GPU, driver, versions, date and method. Nothing that identifies the card or its host.
Provenance provenance_of(const Gpu& gpu);

}  // namespace foretoken::measure

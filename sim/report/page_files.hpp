// Files that were compiled in for HTML pages (CMakeLists.txt). Internal to sim/report.
#pragma once

#include "sim/base/embedded.hpp"

namespace foretoken {

/// page/*: style and scripts.
std::span<const EmbeddedFile> embedded_page();
/// uPlot's script, style and licence; empty where it could not be had when the build was
/// configured.
std::span<const EmbeddedFile> embedded_uplot();

}  // namespace foretoken

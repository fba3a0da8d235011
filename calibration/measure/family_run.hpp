// Measures the shapes of one family and writes them as a dataset.
#pragma once

#include <string>

#include "arena.hpp"
#include "family.hpp"
#include "options.hpp"
#include "stopwatch.hpp"

namespace foretoken::measure {

/// Writes the family's shapes to FAMILY.csv in `folder`, as `foretoken-calibrate choose` reads
/// them.
void write_cases(const Gpu& gpu, const Family& family, const std::string& folder);

/// Writes FAMILY.csv into `options.out` and prints one line with the number of shapes. A shape that
/// the GPU or the library refuses is counted and left out.
void measure_family(const Gpu& gpu, Arena& arena, Stopwatch& stopwatch, Family family,
                    const Options& options);

}  // namespace foretoken::measure

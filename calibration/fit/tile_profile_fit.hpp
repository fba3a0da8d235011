// Turns profiled cuBLAS launches (calibration/datasets/<gpu>/gemm_*.csv, whose kernel names were
// parsed when they were measured), and what the library answers without a launch, into the tile
// profile that decompositions ask.
#pragma once

#include <filesystem>
#include <string>

#include "kernels/tiles/tile_profile.hpp"

namespace foretoken {

/// How often the profile's choice is the library's, on layouts (n, k) it was not grown on.
struct TileScore {
  std::int64_t rows = 0;
  double tile = 0;            // the very tile
  double tile_and_split = 0;  // and the same split of the depth
  double same_rounds = 0;     // as many rounds of SMs of as large a tile, within 5 %
};

struct TileProfileFit {
  TileProfile profile;  // grown on every row
  TileScore held_out;   // of one grown without the held-out layouts
  std::int64_t rows = 0, answers = 0;
  std::string gpu, cublas;  // as the file says
};

/// TileProfileFit::held_out alone, in half the time. Throws as fit_tile_profile() does.
TileScore score_tile_profile(const std::filesystem::path& csv,
                             const std::filesystem::path& answers = {});

/// `answers`: what the library answered for further shapes (measure/cublas_choices.py); "":
/// nothing. Throws ConfigError for a file without the columns.
TileProfileFit fit_tile_profile(const std::filesystem::path& csv,
                                const std::filesystem::path& answers = {});

/// The artifact's text, provenance included.
std::string write_fit(const TileProfileFit& fit, const std::string& source);

}  // namespace foretoken

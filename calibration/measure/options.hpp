// The command line of foretoken-measure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "family.hpp"

namespace foretoken::measure {

struct Options {
  std::vector<std::string> families;
  std::string out = ".";
  double seconds = 1e9;
  std::size_t limit = ~std::size_t{0};
  double memory_gb = 24, settle_ms = 40;
  int few = 0, repeat = 100, device = 0;
  bool once = false, list = false;
  bool cases = false;  // write the shapes and measure nothing
  std::string only;    // folder of FAMILY.csv with the shapes to measure; "" = all
  FamilyOptions family;
};

/// Throws std::runtime_error that names the word that is wrong.
Options parse(int argc, char** argv);

/// "all" and "small" spelled out; throws std::runtime_error that lists the names on an unknown one.
std::vector<std::string> chosen_families(const std::vector<std::string>& words);

extern const char* const usage;

}  // namespace foretoken::measure

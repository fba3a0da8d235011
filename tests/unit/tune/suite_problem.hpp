// A kernel of the suite and the GPU that its recordings are of.
#pragma once

#include <stdexcept>
#include <string>

#include "calibration/tune/problem.hpp"
#include "hardware/gpu.hpp"

namespace foretoken::tune {

inline GpuSpec h200() { return load_gpu("h200-sxm", {}); }

inline Problem suite_problem(const std::string& name) {
  for (Problem& problem : load_suite()) {
    if (problem.name == name) return std::move(problem);
  }
  throw std::runtime_error("no " + name);
}

}  // namespace foretoken::tune

#include "sim/app/model_warnings.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace foretoken {

void warn_of_left_out(const Transformer& model) {
  for (const std::string& what : model.left_out) {
    fmt::print(stderr, "foretoken: {}: {}\n", model.name, what);
  }
}

}  // namespace foretoken

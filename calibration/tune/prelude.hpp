// CUDA that travels inside the program: what every kernel of the suite stands on, and what the
// device process runs itself.
#pragma once

#include <string_view>

namespace foretoken::tune {

std::string_view prelude();
std::string_view harness();

}  // namespace foretoken::tune

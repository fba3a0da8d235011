// What an imported model leaves out, told where an answer is computed with it.
#pragma once

#include "models/transformer.hpp"

namespace foretoken {

/// A line to stderr for each thing that is left out; nothing for a model that is whole.
void warn_of_left_out(const Transformer& model);

}  // namespace foretoken

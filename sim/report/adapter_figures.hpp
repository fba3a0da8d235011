// What a run says of the adapters (LoRA) that it served beside the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretoken {

struct AdapterFigures {
  std::int64_t asked = 0;      // adapters that requests ask for
  std::int64_t slots = 0;      // in GPU memory, of an attention rank of the pool that decodes
  double mean_step = 0;        // different ones in a step that has any
  std::int64_t loads = 0;      // from the host to a GPU, in all pools
  std::int64_t from_disk = 0;  // of these, those that the host had not
  double wait_s = 0;           // by which steps began later
};

/// For a line of the terminal's table.
std::vector<std::string> adapter_parts(const AdapterFigures& adapters);

}  // namespace foretoken

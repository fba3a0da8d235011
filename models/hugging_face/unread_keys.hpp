// Keys of a config.json that no reader asked for. Internal to this room.
#pragma once

#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Reports every key of `config` that is not among `asked`, whose name says that it sizes or shapes
/// what is computed (heads, ranks, layers, an index …), and that is in use: what is not understood
/// must not be priced as if it were not there. Keys that change no kernel are passed over.
void refuse_unread_keys(const Value& config, const std::vector<std::string>& asked,
                        Diagnostics& diagnostics);

}  // namespace foretoken

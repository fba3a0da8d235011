// Where a file is that a user names. A path in a file starts at that file's folder, so that both
// can be moved together; one on the command line starts where the user stands, as the shell
// completes it.
#pragma once

#include <filesystem>
#include <string_view>

#include "sim/base/error.hpp"

namespace foretoken {

/// Whether what stands at `position` came from the command line: "--set cluster.name=...".
bool is_option(const SourcePosition& position);

/// The file that `name` means, which stands at `position`: in a file of `folder` or in an option.
std::filesystem::path named_path(std::string_view name, const SourcePosition& position,
                                 const std::filesystem::path& folder);

}  // namespace foretoken

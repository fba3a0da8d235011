// Where a spec comes from: a file inside the program, by name, or a file of the user's, by path.
// Internal to this room; other rooms call load_gpu and load_cluster.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/embedded.hpp"
#include "sim/base/file_kind.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

// Generated at build time from specs/gpus, specs/clusters and specs/fabrics (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_gpus();
std::span<const EmbeddedFile> embedded_clusters();
std::span<const EmbeddedFile> embedded_fabrics();

/// Anything with a '/' or ending in ".toml" is a path; all else is a name.
bool is_spec_path(std::string_view name_or_path);

/// Whether `text` may name a spec: lower-case letters, digits, '-', '_' and '.', and no path.
bool is_spec_name(std::string_view text);

/// The names of `files`, sorted.
std::vector<std::string> spec_names(std::span<const EmbeddedFile> files);

/// The file called `name`, or nullptr.
const EmbeddedFile* find_spec(std::span<const EmbeddedFile> files, std::string_view name);

/// Parses an embedded file; its positions read "hardware/specs/<folder>/<name>.toml:line:column".
const Value& parse_spec(const EmbeddedFile& file, std::string_view folder);

/// Parses a user's file. A path that leads nowhere is a ConfigError at `asked_at`.
Value load_spec_file(const std::string& path, std::string_view kind,
                     const SourcePosition& asked_at);

/// `*table`, or for a table that is absent an empty one at the place of `root`, so that a reader
/// reports each key it lacks.
Value spec_table(const Value* table, const Value& root);

}  // namespace foretoken

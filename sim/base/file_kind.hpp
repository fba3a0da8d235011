// What a file is by the keys at its top, so that one in another's place is told by its name and the
// command that takes it, not by each key that it lacks. Names of commands stand here since every
// reader of files says the same.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

enum class FileKind { scenario, model, gpu, cluster, config_json, report, deployment, recording };

/// Throws ConfigError if `root`, which stands in `source`, is recognisably of another kind.
void expect_kind(const Value& root, const std::string& source, FileKind wanted);

/// The same of a file whose lines would be refused one by one: by its ending, TOML or JSON of a few
/// pages.
void expect_kind_of_file(const std::filesystem::path& path, FileKind wanted);

/// The same of text, if it is a JSON object from beginning to end.
void expect_kind_in_json(std::string_view text, const std::string& source, FileKind wanted);

/// The same where TOML is wanted: text that begins as a JSON object is refused in any case.
void expect_toml(std::string_view text, const std::string& source, FileKind wanted);

}  // namespace foretoken

#include "sim/base/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/file_text.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

struct KnownKind {
  FileKind kind;
  std::string_view name;
  /// Where it belongs.
  std::string_view remedy;
  /// Keys that tell it from all others: it has each of a list.
  std::vector<std::vector<std::string_view>> marks;
};

/// A scenario may lack any of its tables, by mistake; two of them are no other file's.
const std::array<KnownKind, 8>& known_kinds() {
  static const std::array<KnownKind, 8> kinds = {{
      {FileKind::scenario,
       "a scenario",
       "run it with `foretoken simulate`",
       {{"model", "cluster"}, {"model", "workload"}, {"cluster", "workload"}}},
      {FileKind::model,
       "a model",
       "name it in a scenario ([model] name), or show it with `foretoken model show`",
       {{"layers", "hidden"}, {"layers", "vocabulary"}}},
      {FileKind::gpu,
       "a GPU",
       "name it in a scenario ([cluster] name), or show it with `foretoken gpu show`",
       {{"architecture", "compute_capability"}, {"sm", "memory"}}},
      {FileKind::cluster,
       "a cluster",
       "name it in a scenario ([cluster] name), or show it with `foretoken cluster show`",
       {{"gpu", "nodes"}, {"gpu", "node"}}},
      {FileKind::config_json,
       "a Hugging Face model's config.json",
       "convert it with `foretoken model import`, or name it in a scenario ([model] name)",
       {{"architectures"}, {"model_type"}}},
      {FileKind::report,
       "a report",
       "give the scenario that it came from",
       {{"scenario", "iterations"}}},
      {FileKind::deployment, "a deployment", "read it with `foretoken import`", {}},
      {FileKind::recording, "a recorded run", "compare with it by `foretoken validate`", {}},
  }};
  return kinds;
}

const KnownKind* kind_of(const Value& root) {
  if (!root.is_object()) return nullptr;
  const auto has = [&](std::string_view key) { return root.find(key) != nullptr; };
  const auto is_of = [&](const KnownKind& kind) {
    return std::ranges::any_of(kind.marks,
                               [&](const auto& keys) { return std::ranges::all_of(keys, has); });
  };
  const auto found = std::ranges::find_if(known_kinds(), is_of);
  return found == known_kinds().end() ? nullptr : &*found;
}

bool begins_as_json(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{';
}

const KnownKind& named(FileKind kind) {
  return *std::ranges::find(known_kinds(), kind, &KnownKind::kind);
}

}  // namespace

void expect_kind(const Value& root, const std::string& source, FileKind wanted) {
  const KnownKind* found = kind_of(root);
  if (found == nullptr || found->kind == wanted) return;
  throw ConfigError({source}, fmt::format("this is {}, not {}: {}", found->name, named(wanted).name,
                                          found->remedy));
}

void expect_kind_in_json(std::string_view text, const std::string& source, FileKind wanted) {
  if (!begins_as_json(text)) return;
  Value root;
  try {
    root = parse_json(text, {source});
  } catch (const ConfigError&) {
    return;  // whoever reads it says what is wrong
  }
  expect_kind(root, source, wanted);
}

void expect_kind_of_file(const std::filesystem::path& path, FileKind wanted) {
  constexpr std::size_t pages_max = std::size_t{1} << 20;
  std::error_code unreachable;
  if (std::filesystem::file_size(path, unreachable) > pages_max) return;
  const std::filesystem::path ending = path.extension();
  if (ending == ".toml") (void)load_toml(path, wanted);
  if (ending == ".json") expect_kind_in_json(file_text(path, pages_max), path.string(), wanted);
}

void expect_toml(std::string_view text, const std::string& source, FileKind wanted) {
  if (!begins_as_json(text)) return;
  expect_kind_in_json(text, source, wanted);
  throw ConfigError({source},
                    fmt::format("this is JSON; {} is written in TOML", named(wanted).name));
}

}  // namespace foretoken

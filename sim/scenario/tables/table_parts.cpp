#include "models/model_name.hpp"
#include "sim/base/named_path.hpp"
#include "sim/scenario/key_tables.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {

std::string resolve_path(const std::string& name, const SourcePosition& position,
                         const ScenarioOptions& options) {
  const bool is_path =
      name.find('/') != std::string::npos || name.ends_with(".toml") || name.ends_with(".json");
  if (!is_path || std::filesystem::path(name).is_absolute()) return name;
  const std::filesystem::path path = named_path(name, position, options.base_folder);
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string resolve_model(const std::string& name, const SourcePosition& position,
                          const ScenarioOptions& options) {
  std::error_code unreachable;
  const bool is_file =
      std::filesystem::exists(named_path(name, position, options.base_folder), unreachable);
  return is_model_id(name) && !is_file ? name : resolve_path(name, position, options);
}

void take_options(TableReader& table, VariantChoice& choice) {
  choice.table_keys = table.asked();
  choice.options = table.take_rest();
}

void append_options(Value& table, const Value& options) {
  for (const auto& [key, value] : std::get<ValueObject>(options.data)) table.set(key, value);
}

void finish(TableReader& table) { table.finish(table_of_key); }

std::vector<KeyNote> joined_notes(const std::vector<std::vector<KeyNote>>& parts) {
  std::vector<KeyNote> notes;
  for (const std::vector<KeyNote>& part : parts)
    notes.insert(notes.end(), part.begin(), part.end());
  return notes;
}

}  // namespace foretoken

// foretoken keys: every key of a scenario with its type, unit, default, allowed values and meaning,
// from the declarations that read the file.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/planner/plan/plan_settings.hpp"
#include "sim/report/terminal_text.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/key_tables.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

template <class Factory>
void add_options(const Registry<Factory>& registry, const std::string& table,
                 const std::string& key, std::vector<KeyTable>& out) {
  for (const auto& entry : registry.entries()) {
    if (entry.options.empty()) continue;
    out.push_back(
        {table, fmt::format("{} = \"{}\"", key, entry.name), entry.summary, entry.options});
  }
}

/// Summaries of variants are no sentences.
std::string sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text.ends_with('.') ? text : text + ".";
}

std::string heading(const KeyTable& table) { return "[" + table.name + "]"; }

/// "integer (tokens), 1 or more".
std::string kind_of(const KeyNote& note) {
  const bool is_example = note.unit.find_first_of("0123456789") != std::string::npos;
  std::string text = note.type;
  if (is_example)
    text += fmt::format(", such as {}",
                        note.unit.starts_with('[') ? note.unit : "\"" + note.unit + "\"");
  if (!is_example && !note.unit.empty()) text += fmt::format(" ({})", note.unit);
  if (!note.allowed.empty()) text += fmt::format(": {}", note.allowed);
  return text;
}

std::string default_of(const KeyNote& note) {
  return note.fallback.starts_with("required") ? note.fallback : "default " + note.fallback;
}

void show_key(const KeyNote& note, const Ink& ink, int width) {
  show("\n  {}  {}\n", ink.strong(note.name),
       ink.quiet(folded(default_of(note), width - 4 - display_width(note.name), 0)));
  for (const std::string& text : {kind_of(note), note.meaning})
    show("{}\n", folded("      " + text, width, 6));
}

void show_table(const KeyTable& table, const Ink& ink, int width) {
  show("{}{}\n", ink.strong(heading(table)),
       table.condition.empty() ? "" : " with " + table.condition);
  show("{}\n", folded(sentence(table.about), width, 0));
  for (const KeyNote& note : table.keys) show_key(note, ink, width);
  show("\n");
}

/// Bars and line ends would end a cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string markdown(const std::vector<KeyTable>& tables) {
  std::string out =
      "# Keys of a scenario\n"
      "Written by `foretoken keys --markdown`, from the declarations that read the file; "
      "`foretoken keys TABLE`\nprints one table. Quantities are text with a unit (`\"500 ms\"`, "
      "`\"64 GiB\"`); a table may be left out where\nall of its keys have defaults. In `--set` a "
      "key is `table.key=value`.\n";
  for (const KeyTable& table : tables) {
    out += fmt::format("\n## {}{}\n{}\n\n| key | type | default | meaning |\n|---|---|---|---|\n",
                       code(heading(table)),
                       table.condition.empty() ? "" : " with " + code(table.condition),
                       sentence(table.about));
    for (const KeyNote& note : table.keys) {
      out += fmt::format("| {} | {} | {} | {} |\n", code(note.name), cell(kind_of(note)),
                         cell(note.fallback), cell(note.meaning));
    }
  }
  return out;
}

Value json_value(const std::vector<KeyTable>& tables) {
  ValueArray out;
  for (const KeyTable& table : tables) {
    ValueArray keys;
    for (const KeyNote& note : table.keys) {
      keys.emplace_back(ValueObject{{"name", note.name},
                                    {"type", note.type},
                                    {"unit", note.unit},
                                    {"default", note.fallback},
                                    {"allowed", note.allowed},
                                    {"meaning", note.meaning}});
    }
    out.emplace_back(ValueObject{{"table", table.name},
                                 {"condition", table.condition},
                                 {"about", table.about},
                                 {"keys", std::move(keys)}});
  }
  return out;
}

/// Tables called `name`, or the key that ends it; a mistake names what is near.
std::vector<KeyTable> chosen_tables(const std::vector<KeyTable>& all, const std::string& name) {
  std::vector<KeyTable> tables, with_key;
  std::vector<std::string> names;
  for (const KeyTable& table : all) {
    // [[failures]] is called failures.
    const bool is_list = table.name.starts_with('[');
    const std::string bare = is_list ? table.name.substr(1, table.name.size() - 2) : table.name;
    if (std::ranges::find(names, bare) == names.end()) names.push_back(bare);
    if (bare == name) tables.push_back(table);
    for (const KeyNote& note : table.keys) {
      names.push_back(bare + "." + note.name);
      if (note.name != name && bare + "." + note.name != name) continue;
      with_key.push_back({table.name, table.condition, table.about, {note}});
    }
  }
  if (!tables.empty()) return tables;
  if (!with_key.empty()) return with_key;
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view nearest = nearest_name(name, known);
  throw ConfigError({}, fmt::format("no table or key is called '{}'; {}", name,
                                    nearest.empty() ? "foretoken keys lists all of them"
                                                    : fmt::format("did you mean '{}'?", nearest)));
}

enum class KeyFormat { text, json, markdown };

int print_keys(const std::string& name, KeyFormat format) {
  const std::vector<KeyTable> all = all_key_tables();
  const std::vector<KeyTable> tables = name.empty() ? all : chosen_tables(all, name);
  if (format == KeyFormat::json) {
    show_data(to_json(json_value(tables)) + "\n");
  } else if (format == KeyFormat::markdown) {
    show_data(markdown(tables));
  } else {
    const Ink ink(shows_colour(stdout));
    for (const KeyTable& table : tables) show_table(table, ink, terminal_width(stdout));
  }
  return 0;
}

}  // namespace

std::vector<KeyTable> all_key_tables() {
  const Catalogs catalogs;
  std::vector<KeyTable> out;
  for (const KeyTable& table : scenario_key_tables()) {
    out.push_back(table);
    if (table.name == "engine") add_options(catalogs.schedulers, "engine", "scheduler", out);
    if (table.name == "deployment") add_options(catalogs.routers, "deployment", "router", out);
    if (table.name == "predictor") add_options(catalogs.predictors, "predictor", "name", out);
  }
  const std::vector<KeyTable> plan = plan_key_tables();
  out.insert(out.end(), plan.begin(), plan.end());
  return out;
}

std::vector<std::string> settable_keys() {
  std::vector<std::string> keys;
  for (const KeyTable& table : all_key_tables()) {
    if (table.name.find_first_of("[ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos) continue;
    for (const KeyNote& note : table.keys) {
      std::string key = table.name + "." + note.name;
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
    }
  }
  return keys;
}

void add_keys(CLI::App& program, Action& chosen) {
  struct Asked {
    std::string name;
    bool is_json = false, is_markdown = false;
  };
  auto asked = std::make_shared<Asked>();
  CLI::App* command = program.add_subcommand(
      "keys", "Document scenario keys: type, unit, default, allowed values, meaning");
  command->add_option("table", asked->name, "Table, key or TABLE.KEY (default: all)");
  CLI::Option* json = command->add_flag("--json", asked->is_json, "Print a JSON array of tables");
  command->add_flag("--markdown", asked->is_markdown, "Print Markdown")->excludes(json);
  command->footer(
      examples("  foretoken keys engine\n"
               "  foretoken keys workload.rate_scale\n"
               "  foretoken keys --json"));
  command->callback([asked, &chosen] {
    chosen = [asked] {
      return print_keys(asked->name, asked->is_json       ? KeyFormat::json
                                     : asked->is_markdown ? KeyFormat::markdown
                                                          : KeyFormat::text);
    };
  });
}

}  // namespace foretoken

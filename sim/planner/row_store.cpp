#include "sim/planner/row_store.hpp"

#include <sstream>

#include "sim/base/fingerprint.hpp"
#include "sim/base/json.hpp"
#include "sim/planner/row_checksum.hpp"

namespace foretoken {
namespace {

constexpr std::string_view format_name = "foretoken comparison rows 2";

std::string header_line(const std::string& question) {
  const std::uint64_t print = Fingerprint().add(std::string_view(question)).value();
  return to_json(ValueObject{{"format", std::string(format_name)},
                             {"question", fmt::format("{:016x}", print)}},
                 -1);
}

struct StoreText {
  std::string header;
  std::vector<StoredRow> rows;
};

/// The whole lines of the file; {} if there is none.
StoreText read_store(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  StoreText store;
  std::size_t start = 0;
  for (int line = 1;; ++line) {
    const std::size_t end = all.find('\n', start);
    if (end == std::string::npos) return store;  // what is left was cut off
    const std::string_view content = std::string_view(all).substr(start, end - start);
    if (line == 1) {
      store.header = content;
    } else {
      const SourcePosition position{path.string(), line};
      const Value row = parse_json(content, position);
      if (!row.is_object()) throw ConfigError(position, "is no row of a comparison");
      const Value* name = row.find("name");
      const Value* outcome = row.find("outcome");
      const Value* checksum = row.find("checksum");
      const bool is_row = name != nullptr && name->is_string() && outcome != nullptr &&
                          outcome->is_object() && checksum != nullptr && checksum->is_string();
      if (!is_row || std::get<std::string>(checksum->data) !=
                         row_checksum({std::get<std::string>(name->data), to_json(*outcome, -1)})) {
        throw ConfigError(position,
                          "is damaged, or no row of a comparison; remove the file to start over");
      }
      store.rows.push_back({std::get<std::string>(name->data), read_outcome<Report>(*outcome)});
    }
    start = end + 1;
  }
}

}  // namespace

RowStore::RowStore(const std::filesystem::path& path, const std::string& question,
                   std::size_t rows_wanted, Mode mode)
    : path_(path) {
  const std::string header = header_line(question);
  StoreText found = read_store(path);
  if (mode == Mode::fresh && !found.header.empty() && found.rows.size() < rows_wanted &&
      found.header == header) {
    throw ConfigError({path.string()},
                      fmt::format("holds {} of {} runs of this comparison, which was interrupted; "
                                  "continue it with --resume, or remove the file to start over",
                                  found.rows.size(), rows_wanted));
  }
  if (mode == Mode::resume && !found.header.empty()) {
    if (found.header != header) {
      throw ConfigError({path.string()},
                        "holds runs of another scenario, other layouts or another version; name "
                        "another folder with --out, or leave out --resume to start over");
    }
    rows_ = std::move(found.rows);
  }
  // Written anew, so that a line that was cut off is gone.
  const std::filesystem::path fresh = path_.string() + ".new";
  file_.open(fresh, std::ios::binary | std::ios::trunc);
  file_ << header << '\n';
  for (const StoredRow& row : rows_) add(row);
  file_.flush();
  std::error_code error;
  std::filesystem::rename(fresh, path_, error);
  if (!file_ || error) {
    throw ConfigError({path_.string()}, "cannot write this file; check the path and space");
  }
}

void RowStore::add(const StoredRow& row) {
  if (path_.empty()) return;
  // As it is read back: what is not finite goes.
  const Value outcome = parse_json(to_json(outcome_value(row.outcome), -1), {path_.string()});
  file_ << to_json(ValueObject{{"name", row.name},
                               {"outcome", outcome},
                               {"checksum", row_checksum({row.name, to_json(outcome, -1)})}},
                   -1)
        << '\n';
  file_.flush();
  if (!file_) throw ConfigError({path_.string()}, "cannot write this file; check the space");
}

}  // namespace foretoken

#include "sim/planner/database.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace foretoken {

namespace {

// Others' transactions are a row long; who still waits after this has met a stopped process.
constexpr int patience_ms = 60'000;

/// As SQLite's URI. Where no log lies beside the file nobody writes it, and where none can be made
/// SQLite has to be told so.
std::string read_name(const std::filesystem::path& path) {
  std::string name = "file:";
  for (const char c : path.string())
    name += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const bool has_log = std::filesystem::exists(path.string() + "-wal");
  return has_log || access(folder.c_str(), W_OK) == 0 ? name : name + "?immutable=1";
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Database::Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Database::refuse() const {
  const int code = sqlite3_errcode(connection_.get());
  const std::string message = sqlite3_errmsg(connection_.get());
  // A header of a format that SQLite is too old for, or SQL in a damaged schema, has the code of a
  // mistake in our own SQL.
  if (code == SQLITE_CORRUPT || (code == SQLITE_ERROR && !is_checked_)) refuse_damaged(message);
  FORETOKEN_CHECK(code != SQLITE_ERROR && code != SQLITE_MISUSE && code != SQLITE_CONSTRAINT &&
                      code != SQLITE_RANGE,
                  "SQLite on {}: {}", path_.string(), message);
  if (code == SQLITE_NOTADB)
    throw ConfigError({path_.string()}, "is not an SQLite file; choose another one");
  throw ConfigError(
      {path_.string()},
      access_ == Access::read
          ? fmt::format("cannot be read: {}; check path and permissions", message)
          : fmt::format("cannot be opened for writing: {}; check path and free space", message));
}

Database::Database(const std::filesystem::path& path, Access access)
    : path_(path), access_(access) {
  sqlite3* connection = nullptr;
  const int status = access == Access::read
                         ? sqlite3_open_v2(read_name(path).c_str(), &connection,
                                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr)
                         : sqlite3_open_v2(path.c_str(), &connection,
                                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  connection_.reset(connection);
  if (status != SQLITE_OK) refuse();
  sqlite3_busy_timeout(connection, patience_ms);
}

std::int64_t Database::pragma(std::string_view name) {
  Statement statement = prepare(fmt::format("PRAGMA {}", name));
  return statement.next() ? statement.integer(0) : 0;
}

namespace {

bool is_older(const FileFormat& format, std::int64_t application) {
  return std::ranges::find(format.before, application) != format.before.end();
}

}  // namespace

void Database::claim(const FileFormat& format) {
  // In this order: a process that makes the file meanwhile marks it and adds its tables at once, so
  // that tables which were seen are of a file that is marked by now.
  const bool has_tables = pragma("schema_version") != 0;
  const std::int64_t application = pragma("application_id");
  const bool is_ours = application == format.application || is_older(format, application);
  if (!is_ours && has_tables)
    throw ConfigError({path_.string()}, "is an SQLite file of another program; choose another one");
  if (access_ == Access::read) return;
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = FULL");
}

bool Database::is_new(const FileFormat& format) {
  if (pragma("schema_version") == 0) {
    if (prepare("SELECT 1 FROM sqlite_master").next())
      refuse_damaged("its header says that it is empty");
    if (access_ == Access::read)
      throw ConfigError({path_.string()}, "holds no runs yet; run the command without --no-run");
    execute(fmt::format("PRAGMA application_id = {}", format.application));
    execute(fmt::format("PRAGMA user_version = {}", format.version));
    is_checked_ = true;
    return true;
  }
  if (pragma("user_version") != format.version || is_older(format, pragma("application_id"))) {
    throw ConfigError({path_.string()},
                      "was written by another version of Foretoken; choose another file with "
                      "--store, or remove it to start over");
  }
  return false;
}

void Database::refuse_damaged(std::string_view how) const {
  throw ConfigError({path_.string()},
                    fmt::format("is damaged: {}. Restore a copy, or remove it to start over", how));
}

void Database::check_integrity(std::span<const std::string_view> tables) {
  Statement answer = prepare("PRAGMA integrity_check(1)");
  const std::string text = answer.next() ? answer.text(0) : "nothing can be read";
  if (text != "ok") refuse_damaged(text);
  for (const std::string_view table : tables) {
    Statement found = prepare("SELECT 1 FROM sqlite_master WHERE sql = ?", table);
    if (!found.next()) refuse_damaged("a table has another layout");
  }
  is_checked_ = true;
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_.get()); }

Database::Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(database.connection_.get(), sql.data(),
                                        static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (status != SQLITE_OK) database.refuse();
}

void Database::Statement::check_bound(int status) {
  if (status != SQLITE_OK) database_->refuse();
}

void Database::Statement::bind(std::int64_t value) {
  check_bound(sqlite3_bind_int64(statement_.get(), ++bound_, value));
}

void Database::Statement::bind(double value) {
  check_bound(sqlite3_bind_double(statement_.get(), ++bound_, value));
}

void Database::Statement::bind(std::string_view value) {
  check_bound(sqlite3_bind_text64(statement_.get(), ++bound_, value.data(), value.size(),
                                  SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Database::Statement::bind(const std::optional<std::string>& value) {
  if (value) return bind(std::string_view(*value));
  check_bound(sqlite3_bind_null(statement_.get(), ++bound_));
}

bool Database::Statement::next() {
  const int status = sqlite3_step(statement_.get());
  if (status != SQLITE_ROW && status != SQLITE_DONE) database_->refuse();
  return status == SQLITE_ROW;
}

std::int64_t Database::Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Database::Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Database::Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

Database::Transaction::Transaction(Database& database) : database_(database) {
  database.execute("BEGIN IMMEDIATE");
}

Database::Transaction::~Transaction() {
  if (is_over_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const std::exception&) {
    // SQLite has undone it already, or will when the file is opened again.
  }
}

void Database::Transaction::commit() {
  database_.execute("COMMIT");
  is_over_ = true;
}

}  // namespace foretoken

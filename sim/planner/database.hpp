// SQLite behind two small classes: a connection and a prepared statement. The only place that
// includes sqlite3.h. Whatever SQLite refuses becomes a ConfigError at the file: a disk that is
// full, a folder that may not be written, a file that is no database.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace foretoken {

/// Whose SQLite file it is, and in which version: "FTKS" as a number, 1.
struct FileFormat {
  std::int64_t application = 0, version = 1;
  std::array<std::int64_t, 2> before = {};  // applications that older versions wrote
};

class Database {
 public:
  class Statement {
   public:
    /// Goes to the next row; false: there is none (or the statement yields none, and is done).
    bool next();
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] double real(int column) const;
    [[nodiscard]] std::string text(int column) const;

   private:
    friend class Database;
    Statement(Database& database, std::string_view sql);
    // Each fills the next '?'.
    void bind(std::int64_t value);
    void bind(double value);
    void bind(std::string_view value);
    void bind(const std::string& value) { bind(std::string_view(value)); }
    void bind(const std::optional<std::string>& value);  // nullopt: NULL
    void check_bound(int status);
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const;
    };
    Database* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int bound_ = 0;
  };

  /// A transaction that writes: nobody else does until it ends. Undone unless committed.
  class Transaction {
   public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    Database& database_;
    bool is_over_ = false;
  };

  /// read: nothing is made or changed, and the file, or its folder, need not be writable.
  enum class Access { write, read };
  /// Opens or makes the file. Others may have it open too; a call waits up to a minute while
  /// one of them writes. Not to be used in a child after fork().
  explicit Database(const std::filesystem::path& path, Access access = Access::write);

  /// `values` stand for the '?' in order: std::int64_t, double, text, optional text.
  template <class... Values>
  Statement prepare(std::string_view sql, const Values&... values) {
    Statement statement(*this, sql);
    (statement.bind(values), ...);
    return statement;
  }
  /// A statement whose rows, if any, nobody reads.
  template <class... Values>
  void execute(std::string_view sql, const Values&... values) {
    Statement statement = prepare(sql, values...);
    while (statement.next()) {
    }
  }
  /// Takes the file for one of `format`: a new one, or one that has been marked as such. Whatever
  /// is committed from then on is on the disk (write-ahead log, synchronous = FULL). Another
  /// program's file is a ConfigError.
  void claim(const FileFormat& format);
  /// Inside a transaction, after claim(): whether the file is still empty; it is marked then, and
  /// its tables are the caller's to make. Another version's file is a ConfigError.
  bool is_new(const FileFormat& format);
  /// Throws ConfigError where SQLite finds the file damaged, or one of `tables`, the statements
  /// that made them, does not stand in it as it is. To be called once a file that was there is
  /// opened: reads all of it.
  void check_integrity(std::span<const std::string_view> tables);
  /// Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  [[noreturn]] void refuse() const;
  [[noreturn]] void refuse_damaged(std::string_view how) const;
  std::int64_t pragma(std::string_view name);
  std::filesystem::path path_;
  Access access_;
  std::unique_ptr<sqlite3, Close> connection_;
  bool is_checked_ = false;  // until then, what SQLite says of a statement may be the file's fault
};

}  // namespace foretoken

#include "sim/planner/outcome_store.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/planner/row_checksum.hpp"
#include "sim/report/figures.hpp"

namespace foretoken {
namespace {

constexpr FileFormat format = {0x46544b4f, 2};  // "FTKO"

constexpr std::string_view tables[] = {
    "CREATE TABLE question (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "CREATE TABLE run (question INTEGER NOT NULL REFERENCES question, request TEXT NOT NULL,"
    " state TEXT NOT NULL CHECK (state IN ('ran', 'infeasible')), message TEXT, report TEXT,"
    " checksum TEXT NOT NULL, finished_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE "
    "(question, request))",
};

}  // namespace

std::string request_name(const RunRequest& request) {
  std::string name = fmt::format("{}", fmt::join(request.overrides, "\n"));
  if (request.misses_max) name += fmt::format("\nmisses_max {}", *request.misses_max);
  return name;
}

OutcomeStore::OutcomeStore(const std::filesystem::path& path, const std::string& question)
    : database_(path) {
  database_.claim(format);
  Database::Transaction transaction(database_);
  if (database_.is_new(format)) {
    for (const std::string_view table : tables) database_.execute(table);
    database_.execute(
        fmt::format("CREATE VIEW result AS SELECT question, request, state, message{} FROM run",
                    figure_columns_sql()));
  } else {
    database_.check_integrity();
    for (const std::string_view table : tables) database_.check_table(table);
  }
  database_.execute("INSERT OR IGNORE INTO question (text) VALUES (?)", question);
  {
    Database::Statement row = database_.prepare("SELECT id FROM question WHERE text = ?", question);
    FORETOKEN_CHECK(row.next(), "a question that was kept is found");
    question_ = row.integer(0);
  }
  transaction.commit();
}

std::optional<RunOutcome> OutcomeStore::find(const RunRequest& request) {
  Database::Statement row = database_.prepare(
      "SELECT state, message, report, checksum, rowid FROM run WHERE question = ? AND request = ?",
      question_, request_name(request));
  if (!row.next()) return std::nullopt;
  if (row.text(3) != row_checksum({request_name(request), row.text(0), row.text(1), row.text(2)}))
    refuse_damaged_row(database_.path().string(), row.integer(4));
  ++found_;
  RunOutcome outcome{RunStatus::ran, row.text(1), {}};
  if (row.text(0) == enum_name(RunStatus::infeasible)) {
    outcome.status = RunStatus::infeasible;
  } else {
    outcome.report = read_report(parse_json(row.text(2), {database_.path().string()}));
  }
  return outcome;
}

void OutcomeStore::keep(const RunRequest& request, const RunOutcome& outcome) {
  FORETOKEN_CHECK(outcome.status != RunStatus::failed, "a run that broke off is no answer: {}",
                  outcome.message);
  std::optional<std::string> message, report;
  if (!outcome.message.empty()) message = outcome.message;
  if (outcome.status == RunStatus::ran) report = to_json(answer_value(outcome.report), -1);
  database_.execute(
      "INSERT OR IGNORE INTO run (question, request, state, message, report, checksum)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      question_, request_name(request), enum_name(outcome.status), message, report,
      row_checksum({request_name(request), enum_name(outcome.status), message.value_or(""),
                    report.value_or("")}));
  ++kept_;
}

}  // namespace foretoken

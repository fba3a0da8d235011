#include "sim/planner/run_store.hpp"

#include "sim/base/fingerprint.hpp"
#include "sim/base/json.hpp"
#include "sim/report/figures.hpp"

namespace foretoken {
namespace {

// "FTKR"; those before were a sweep's ("FTKS") and a plan's ("FTKO").
constexpr FileFormat format = {0x46544b52, 1, {0x46544b53, 0x46544b4f}};

constexpr std::string_view tables[] = {
    "CREATE TABLE question (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE,"
    " checksum TEXT NOT NULL)",
    // deadline and finished_at: seconds since 1970. attempts: leases that were ever taken.
    "CREATE TABLE run (number INTEGER PRIMARY KEY, question INTEGER NOT NULL REFERENCES question,"
    " settings TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting'"
    "   CHECK (state IN ('waiting', 'leased', 'ran', 'infeasible', 'failed')),"
    " owner TEXT, host TEXT, deadline REAL, attempts INTEGER NOT NULL DEFAULT 0,"
    " message TEXT, report TEXT, wall_s REAL, finished_at REAL, checksum TEXT,"
    " UNIQUE (question, settings))",
    "CREATE INDEX run_by_state ON run (state, number)",
};

/// What tells a row that was damaged (a disk, a copy that broke off) from one as it was written: a
/// changed digit would otherwise become another table without a word.
std::string checksum_of(std::initializer_list<std::string_view> parts) {
  Fingerprint fingerprint;
  for (const std::string_view part : parts) fingerprint.add(part);
  return fmt::format("{:016x}", fingerprint.value());
}

[[noreturn]] void refuse_damaged_row(const std::string& file, std::int64_t row) {
  throw ConfigError({file}, fmt::format("row {} is damaged: its checksum does not match. Restore a "
                                        "copy, or remove the file to start over",
                                        row));
}

bool is_finished(const std::string& state) { return state != "waiting" && state != "leased"; }

/// The outcome in three columns: state, message, report.
RunOutcome outcome_in(const Database::Statement& row, int first, const std::string& file,
                      std::int64_t number) {
  const auto status = parse_enum<RunStatus>(row.text(first));
  if (!status) refuse_damaged_row(file, number);
  RunOutcome outcome{*status, row.text(first + 1), {}};
  if (*status == RunStatus::ran)
    outcome.report = read_report(parse_json(row.text(first + 2), {file}));
  return outcome;
}

std::string report_text_of(const RunOutcome& outcome) {
  return outcome.status == RunStatus::ran ? to_json(report_value(outcome.report), -1) : "";
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

std::string run_name(const RunRequest& request) {
  Value name;
  for (const Change& change : request.changes) name.set(change.key, change.value_text());
  if (request.misses_max) name.set("misses_max", *request.misses_max);
  return to_json(name, -1);
}

RunStore::RunStore(const std::filesystem::path& path, const std::string& question)
    : database_(path) {
  database_.claim(format);
  Database::Transaction transaction(database_);
  if (database_.is_new(format)) {
    make();
  } else {
    check_file();
  }
  database_.execute("INSERT OR IGNORE INTO question (text, checksum) VALUES (?, ?)", question,
                    checksum_of({question}));
  question_ = question_id(question);
  FORETOKEN_CHECK(question_ != 0, "a question that was kept is found");
  transaction.commit();
}

RunStore::RunStore(ReadOnly, const std::filesystem::path& path, const std::string& question)
    : database_(path, Database::Access::read) {
  database_.claim(format);
  (void)database_.is_new(format);  // refuses an empty file and other versions'
  check_file();
  question_ = question_id(question);
}

void RunStore::check_file() {
  database_.check_integrity(tables);
  check_rows();
}

std::int64_t RunStore::question_id(const std::string& question) {
  Database::Statement row = database_.prepare("SELECT id FROM question WHERE text = ?", question);
  return row.next() ? row.integer(0) : 0;
}

void RunStore::make() {
  for (const std::string_view table : tables) database_.execute(table);
  database_.execute(fmt::format(
      "CREATE VIEW result AS SELECT number, settings, state, message{}, wall_s FROM run",
      figure_columns_sql()));
}

void RunStore::check_rows() {
  const std::string file = database_.path().string();
  Database::Statement question = database_.prepare("SELECT id, text, checksum FROM question");
  while (question.next()) {
    if (question.text(2) != checksum_of({question.text(1)}))
      refuse_damaged_row(file, question.integer(0));
  }
  Database::Statement row = database_.prepare(
      "SELECT number, question, settings, state, message, report, checksum FROM run");
  while (row.next()) {
    if (!is_finished(row.text(3))) continue;
    const std::string owner = fmt::format("{}", row.integer(1));
    if (row.text(6) != checksum_of({owner, row.text(2), row.text(3), row.text(4), row.text(5)}))
      refuse_damaged_row(file, row.integer(0));
  }
}

std::string RunStore::checksum(const std::string& name, const RunOutcome& outcome,
                               const std::string& report) const {
  return checksum_of(
      {fmt::format("{}", question_), name, enum_name(outcome.status), outcome.message, report});
}

std::optional<RunOutcome> RunStore::find(const RunRequest& request) {
  Database::Statement row = database_.prepare(
      "SELECT number, state, message, report FROM run WHERE question = ? AND settings = ?",
      question_, run_name(request));
  if (!row.next() || !is_finished(row.text(1))) return std::nullopt;
  ++found_;
  return outcome_in(row, 1, database_.path().string(), row.integer(0));
}

void RunStore::keep(const RunRequest& request, const RunOutcome& outcome) {
  FORETOKEN_CHECK(outcome.status != RunStatus::failed, "a run that broke off is no answer: {}",
                  outcome.message);
  const std::string name = run_name(request), report = report_text_of(outcome);
  database_.execute(
      "INSERT OR IGNORE INTO run (question, settings, state, message, report, checksum)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      question_, name, enum_name(outcome.status), unless_empty(outcome.message),
      unless_empty(report), checksum(name, outcome, report));
  ++kept_;
}

std::int64_t RunStore::row_of(const std::string& name) {
  database_.execute("INSERT OR IGNORE INTO run (question, settings) VALUES (?, ?)", question_,
                    name);
  const std::int64_t row = known_row_of(name);
  FORETOKEN_CHECK(row != 0, "a run that was asked for is found");
  return row;
}

std::int64_t RunStore::known_row_of(const std::string& name) {
  Database::Statement row = database_.prepare(
      "SELECT number FROM run WHERE question = ? AND settings = ?", question_, name);
  return row.next() ? row.integer(0) : 0;
}

void RunStore::make_wanted() {
  database_.execute("CREATE TEMP TABLE wanted (run INTEGER PRIMARY KEY, place INTEGER NOT NULL)");
}

void RunStore::look_for(const std::vector<RunRequest>& requests) {
  database_.execute("PRAGMA temp_store = MEMORY");
  make_wanted();
  for (std::size_t place = 0; place < requests.size(); ++place) {
    const std::int64_t row = known_row_of(run_name(requests[place]));
    if (row == 0) continue;
    database_.execute("INSERT INTO wanted VALUES (?, ?)", row, static_cast<std::int64_t>(place));
  }
}

void RunStore::want(const std::vector<RunRequest>& requests, RunOwner owner) {
  owner_ = std::move(owner);
  database_.execute("PRAGMA temp_store = MEMORY");
  Database::Transaction transaction(database_);
  check_machine();
  make_wanted();
  for (const RunRequest& request : requests) {
    names_.push_back(run_name(request));
    rows_.push_back(row_of(names_.back()));
    database_.execute("INSERT INTO wanted VALUES (?, ?)", rows_.back(),
                      static_cast<std::int64_t>(rows_.size() - 1));
  }
  transaction.commit();
}

void RunStore::check_machine() {
  Database::Statement other = database_.prepare(
      "SELECT host FROM run WHERE state = 'leased' AND host <> ? AND deadline > ?", owner_.host,
      owner_.now());
  if (!other.next()) return;
  throw ConfigError({database_.path().string()},
                    fmt::format("is in use on {}; only one machine can use a store at a time. To "
                                "sweep over several machines, use foretoken-mpi",
                                other.text(0)));
}

void RunStore::end_leases_of_the_gone() {
  std::vector<std::string> gone;
  {
    Database::Statement owners = database_.prepare(
        "SELECT DISTINCT owner FROM run WHERE state = 'leased' AND owner <> ?", owner_.name);
    while (owners.next()) {
      if (owner_.is_gone(owners.text(0))) gone.push_back(owners.text(0));
    }
  }
  for (const std::string& owner : gone) give_up_leases(owner);
}

void RunStore::give_up_leases(const std::string& owner) {
  database_.execute("UPDATE run SET state = 'waiting' WHERE state = 'leased' AND owner = ?", owner);
}

std::vector<std::size_t> RunStore::take(std::size_t count) {
  std::vector<std::size_t> runs;
  Database::Transaction transaction(database_);
  end_leases_of_the_gone();
  const double now = owner_.now();
  {
    Database::Statement free = database_.prepare(
        "SELECT place FROM run JOIN wanted ON run = number WHERE state = 'waiting' OR"
        " (state = 'leased' AND deadline <= ? AND owner <> ?) ORDER BY number LIMIT ?",
        now, owner_.name, static_cast<std::int64_t>(count));
    while (free.next()) runs.push_back(static_cast<std::size_t>(free.integer(0)));
  }
  for (const std::size_t run : runs) {
    database_.execute(
        "UPDATE run SET state = 'leased', owner = ?, host = ?, deadline = ?,"
        " attempts = attempts + 1 WHERE number = ?",
        owner_.name, owner_.host, now + owner_.lease_s, rows_[run]);
  }
  transaction.commit();
  return runs;
}

void RunStore::renew() {
  database_.execute("UPDATE run SET deadline = ? WHERE state = 'leased' AND owner = ?",
                    owner_.now() + owner_.lease_s, owner_.name);
}

bool RunStore::finish(std::size_t run, const RunOutcome& outcome, double wall_s) {
  const std::string report = report_text_of(outcome);
  database_.execute(
      "UPDATE run SET state = ?, message = ?, report = ?, wall_s = ?, finished_at = ?,"
      " owner = ?, host = ?, checksum = ?, deadline = NULL"
      " WHERE number = ? AND state IN ('waiting', 'leased')",
      enum_name(outcome.status), unless_empty(outcome.message), unless_empty(report), wall_s,
      owner_.now(), owner_.name, owner_.host, checksum(names_.at(run), outcome, report),
      rows_.at(run));
  return database_.changes() == 1;
}

void RunStore::release() { give_up_leases(owner_.name); }

std::size_t RunStore::forget_failures() {
  database_.execute(
      "UPDATE run SET state = 'waiting', message = NULL, checksum = NULL WHERE state = 'failed'"
      " AND number IN (SELECT run FROM wanted)");
  return static_cast<std::size_t>(database_.changes());
}

RunStore::Counts RunStore::counts() {
  Database::Statement statement = database_.prepare(
      "SELECT count(*), count(*) FILTER (WHERE state NOT IN ('waiting', 'leased')),"
      " count(*) FILTER (WHERE state = 'leased') FROM run JOIN wanted ON run = number");
  FORETOKEN_CHECK(statement.next(), "a count has a row");
  const auto count = [&](int column) {
    return static_cast<std::size_t>(statement.integer(column));
  };
  return {count(0), count(1), count(2)};
}

void RunStore::each_finished(const std::function<void(std::size_t run, RunOutcome outcome)>& row) {
  Database::Statement statement = database_.prepare(
      "SELECT place, number, state, message, report FROM run JOIN wanted ON run = number"
      " WHERE state NOT IN ('waiting', 'leased') ORDER BY place");
  while (statement.next()) {
    row(static_cast<std::size_t>(statement.integer(0)),
        outcome_in(statement, 2, database_.path().string(), statement.integer(1)));
  }
}

}  // namespace foretoken

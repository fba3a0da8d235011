#include "sim/planner/run_store.hpp"

#include "sim/base/json.hpp"
#include "sim/planner/row_checksum.hpp"
#include "sim/report/figures.hpp"

namespace foretoken {
namespace {

constexpr FileFormat format = {0x46544b53, 2};  // "FTKS"

constexpr std::string_view tables[] = {
    "CREATE TABLE question (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    // deadline and finished_at: seconds since 1970. attempts: leases that were ever taken.
    "CREATE TABLE run (number INTEGER PRIMARY KEY, settings TEXT NOT NULL,"
    " state TEXT NOT NULL DEFAULT 'waiting'"
    "   CHECK (state IN ('waiting', 'leased', 'ran', 'infeasible', 'failed')),"
    " owner TEXT, host TEXT, deadline REAL, attempts INTEGER NOT NULL DEFAULT 0,"
    " message TEXT, report TEXT, wall_s REAL, finished_at REAL, checksum TEXT)",
    "CREATE INDEX run_by_state ON run (state, number)",
};

}  // namespace

RunStore::RunStore(const std::filesystem::path& path, const StoreQuestion& question,
                   const std::vector<std::string>& settings, RunOwner owner)
    : database_(path), owner_(std::move(owner)), settings_(settings) {
  database_.claim(format);
  Database::Transaction transaction(database_);
  if (database_.is_new(format)) {
    make(question, settings);
  } else {
    database_.check_integrity();
    for (const std::string_view table : tables) database_.check_table(table);
    check_question(question);
    check_machine();
    check_rows(settings);
  }
  transaction.commit();
}

void RunStore::make(const StoreQuestion& question, const std::vector<std::string>& settings) {
  for (const std::string_view table : tables) database_.execute(table);
  database_.execute(fmt::format(
      "CREATE VIEW result AS SELECT number, settings, state, message{}, wall_s FROM run",
      figure_columns_sql()));
  for (const StoreQuestion::Part& part : question.parts) {
    database_.execute("INSERT INTO question VALUES (?, ?)", part.name, part.value);
  }
  for (std::size_t run = 0; run < settings.size(); ++run) {
    database_.execute("INSERT INTO run (number, settings) VALUES (?, ?)",
                      static_cast<std::int64_t>(run), settings[run]);
  }
}

void RunStore::check_question(const StoreQuestion& question) {
  for (const StoreQuestion::Part& part : question.parts) {
    Database::Statement found =
        database_.prepare("SELECT value FROM question WHERE name = ?", part.name);
    const std::string value = found.next() ? found.text(0) : "";
    if (value == part.value) continue;
    // A whole file is not put into a message.
    const bool is_short = value.find('\n') == std::string::npos;
    throw ConfigError(
        {database_.path().string()},
        fmt::format("holds a sweep of {}{}; name another file with --store, or remove it to start "
                    "over",
                    part.title,
                    is_short ? fmt::format(" ({})", value.empty() ? "none" : value) : ""));
  }
}

void RunStore::check_machine() {
  Database::Statement other = database_.prepare(
      "SELECT host FROM run WHERE state = 'leased' AND host <> ? AND deadline > ?", owner_.host,
      owner_.now());
  if (!other.next()) return;
  throw ConfigError({database_.path().string()},
                    fmt::format("is in use on {}; a store is for one machine at a time. Several "
                                "machines share a sweep with foretoken-mpi",
                                other.text(0)));
}

void RunStore::check_rows(const std::vector<std::string>& settings) {
  Database::Statement row = database_.prepare(
      "SELECT number, settings, state, message, report, checksum FROM run ORDER BY number");
  std::size_t next = 0;
  for (; row.next(); ++next) {
    const auto number = static_cast<std::size_t>(row.integer(0));
    const std::string state = row.text(2);
    const bool is_finished = state != "waiting" && state != "leased";
    const bool is_sound =
        number == next && number < settings.size() && row.text(1) == settings[number] &&
        (!is_finished ||
         row.text(5) == row_checksum({row.text(1), state, row.text(3), row.text(4)}));
    if (!is_sound) refuse_damaged_row(database_.path().string(), row.integer(0));
  }
  if (next != settings.size())
    refuse_damaged_row(database_.path().string(), static_cast<std::int64_t>(next));
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
        "SELECT number FROM run WHERE state = 'waiting' OR"
        " (state = 'leased' AND deadline <= ? AND owner <> ?) ORDER BY number LIMIT ?",
        now, owner_.name, static_cast<std::int64_t>(count));
    while (free.next()) runs.push_back(static_cast<std::size_t>(free.integer(0)));
  }
  for (const std::size_t run : runs) {
    database_.execute(
        "UPDATE run SET state = 'leased', owner = ?, host = ?, deadline = ?,"
        " attempts = attempts + 1 WHERE number = ?",
        owner_.name, owner_.host, now + owner_.lease_s, static_cast<std::int64_t>(run));
  }
  transaction.commit();
  return runs;
}

void RunStore::renew() {
  database_.execute("UPDATE run SET deadline = ? WHERE state = 'leased' AND owner = ?",
                    owner_.now() + owner_.lease_s, owner_.name);
}

bool RunStore::finish(std::size_t run, const RunOutcome& outcome, double wall_s) {
  std::optional<std::string> message, report;
  if (!outcome.message.empty()) message = outcome.message;
  if (outcome.status == RunStatus::ran) report = to_json(answer_value(outcome.report), -1);
  database_.execute(
      "UPDATE run SET state = ?, message = ?, report = ?, wall_s = ?, finished_at = ?,"
      " owner = ?, host = ?, checksum = ?, deadline = NULL"
      " WHERE number = ? AND state IN ('waiting', 'leased')",
      enum_name(outcome.status), message, report, wall_s, owner_.now(), owner_.name, owner_.host,
      row_checksum({settings_.at(run), enum_name(outcome.status), message.value_or(""),
                    report.value_or("")}),
      static_cast<std::int64_t>(run));
  return database_.changes() == 1;
}

void RunStore::release() { give_up_leases(owner_.name); }

std::size_t RunStore::forget_failures() {
  database_.execute(
      "UPDATE run SET state = 'waiting', message = NULL, checksum = NULL WHERE state = 'failed'");
  return static_cast<std::size_t>(database_.changes());
}

RunStore::Counts RunStore::counts() {
  Database::Statement statement = database_.prepare(
      "SELECT count(*), count(*) FILTER (WHERE state NOT IN ('waiting', 'leased')),"
      " count(*) FILTER (WHERE state = 'leased') FROM run");
  FORETOKEN_CHECK(statement.next(), "a count has a row");
  const auto count = [&](int column) {
    return static_cast<std::size_t>(statement.integer(column));
  };
  return {count(0), count(1), count(2)};
}

void RunStore::each_finished(const std::function<void(std::size_t run, RunOutcome outcome)>& row) {
  Database::Statement statement = database_.prepare(
      "SELECT number, state, message, report FROM run WHERE state NOT IN ('waiting', 'leased')"
      " ORDER BY number");
  while (statement.next()) {
    const auto status = parse_enum<RunStatus>(statement.text(1));
    // Checked on opening; another process may have been at it since.
    if (!status) refuse_damaged_row(database_.path().string(), statement.integer(0));
    RunOutcome outcome{*status, statement.text(2), {}};
    if (*status == RunStatus::ran)
      outcome.report = read_report(parse_json(statement.text(3), {database_.path().string()}));
    row(static_cast<std::size_t>(statement.integer(0)), std::move(outcome));
  }
}

}  // namespace foretoken

#include "tests/sweep/foretoken_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "sim/planner/database.hpp"

extern char** environ;

namespace foretoken {
namespace {

bool has_runs(Database& database) {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'run'").next();
}

}  // namespace

ProgramRun::ProgramRun(const std::vector<std::string>& arguments,
                       const std::filesystem::path& log) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  const int status = posix_spawnp(&process_, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (status != 0) throw std::runtime_error("cannot start " + arguments[0]);
}

ProgramRun::~ProgramRun() {
  if (is_over_) return;
  kill(process_, SIGKILL);
  wait();
}

void ProgramRun::signal(int number) const { kill(process_, number); }

bool ProgramRun::has_ended() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

int ProgramRun::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  is_over_ = true;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_program(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  return ProgramRun(arguments, log).wait();
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::map<std::int64_t, std::string> finished_rows(const std::filesystem::path& store) {
  std::map<std::int64_t, std::string> rows;
  if (!std::filesystem::exists(store)) return rows;
  Database database(store);
  if (!has_runs(database)) return rows;
  auto row = database.prepare(
      "SELECT number, json_array(state, message, report, wall_s, finished_at) FROM run"
      " WHERE state NOT IN ('waiting', 'leased')");
  while (row.next()) rows[row.integer(0)] = row.text(1);
  return rows;
}

std::int64_t finished_runs(const std::filesystem::path& store) {
  if (!std::filesystem::exists(store)) return 0;
  Database database(store);
  if (!has_runs(database)) return 0;
  auto row = database.prepare("SELECT count(*) FROM run WHERE state NOT IN ('waiting', 'leased')");
  return row.next() ? row.integer(0) : 0;
}

std::int64_t attempts(const std::filesystem::path& store) {
  Database database(store);
  auto row = database.prepare("SELECT sum(attempts) FROM run");
  return row.next() ? row.integer(0) : 0;
}

std::string integrity(const std::filesystem::path& store) {
  Database database(store);
  auto row = database.prepare("PRAGMA integrity_check");
  return row.next() ? row.text(0) : "no answer";
}

}  // namespace foretoken

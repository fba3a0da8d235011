#include "calibration/app/processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// First byte of what a child leaves behind.
enum class Outcome : char { fine = 'f', config = 'c', prediction = 'p', bug = 'b', other = 'o' };

std::string answer_of(const std::function<std::string(std::size_t)>& work, std::size_t i) {
  const auto said = [](Outcome outcome, const std::string& text) {
    return static_cast<char>(outcome) + text;
  };
  try {
    return said(Outcome::fine, work(i));
  } catch (const ConfigError& error) {
    return said(Outcome::config, error.what());
  } catch (const PredictionError& error) {
    return said(Outcome::prediction, error.what());
  } catch (const std::logic_error& error) {
    return said(Outcome::bug, error.what());
  } catch (const std::exception& error) {
    return said(Outcome::other, error.what());
  }
}

struct Child {
  std::size_t item = 0;
  File file;  // has no name, and is shared with the child
};

[[noreturn]] void run_child(const std::function<std::string(std::size_t)>& work, std::size_t item,
                            std::FILE* file) {
  const std::string answer = answer_of(work, item);
  const bool is_written =
      std::fwrite(answer.data(), 1, answer.size(), file) == answer.size() && std::fflush(file) == 0;
  _exit(is_written ? 0 : 1);
}

void start(std::map<pid_t, Child>& children, std::size_t item,
           const std::function<std::string(std::size_t)>& work) {
  Child child{item, File(std::tmpfile())};
  if (child.file == nullptr) throw std::runtime_error("no temporary file can be made");
  std::fflush(nullptr);  // or the child would print what this process still holds
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no child process can be started");
  if (pid == 0) run_child(work, item, child.file.get());
  children.emplace(pid, std::move(child));
}

/// Waits for any of the children and takes what it left: "" if it died.
std::pair<std::size_t, std::string> finish_one(std::map<pid_t, Child>& children) {
  int status = 0;
  const pid_t pid = waitpid(-1, &status, 0);
  const auto found = children.find(pid);
  FORETOKEN_CHECK(found != children.end(), "process {} is none of ours", pid);
  Child child = std::move(found->second);
  children.erase(found);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {child.item, ""};
  std::string answer;
  std::rewind(child.file.get());
  char buffer[1 << 16];
  while (const std::size_t read = std::fread(buffer, 1, sizeof buffer, child.file.get())) {
    answer.append(buffer, read);
  }
  return {child.item, std::move(answer)};
}

std::string checked(std::string answer) {
  if (answer.empty()) throw std::runtime_error("a child process died; is memory short?");
  const auto outcome = static_cast<Outcome>(answer.front());
  answer.erase(0, 1);
  if (outcome == Outcome::config) throw ConfigError({"in a child process"}, answer);
  if (outcome == Outcome::prediction) throw PredictionError(answer);
  if (outcome == Outcome::bug) throw InternalError(answer);
  if (outcome == Outcome::other) throw std::runtime_error(answer);
  return answer;
}

}  // namespace

std::vector<std::string> in_processes(std::size_t count, int processes,
                                      const std::function<std::string(std::size_t)>& work) {
  std::vector<std::string> answers(count);
  if (processes <= 1) {
    for (std::size_t i = 0; i < count; ++i) answers[i] = work(i);
    return answers;
  }
  std::map<pid_t, Child> children;
  for (std::size_t next = 0; next < count || !children.empty();) {
    if (next < count && children.size() < static_cast<std::size_t>(processes)) {
      start(children, next++, work);
      continue;
    }
    auto [item, answer] = finish_one(children);
    answers[item] = std::move(answer);
  }
  for (std::string& answer : answers) answer = checked(std::move(answer));
  return answers;
}

}  // namespace foretoken

#include "sim/app/run_owner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace foretoken {
namespace {

/// When a process began, in ticks since the machine did; "" if there is no such process (one that
/// has ended and waits for its parent counts as none). Field 22 of proc_pid_stat(5); the name in
/// field 2 may hold spaces and parentheses.
std::string began(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return "";
  std::istringstream fields(text.substr(end_of_name + 1));
  std::string state, field;
  fields >> state;
  if (state == "Z" || state == "X") return "";
  for (int number = 4; number <= 22; ++number) fields >> field;
  return field;
}

/// "host pid:[4026531836]": who can see whose process numbers.
std::string place() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::error_code ignored;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored);
  return fmt::format("{} {}", host, space.string());
}

/// "PLACE PROCESS BEGAN"
bool has_ended(const std::string& owner) {
  const std::string here = place() + " ";
  if (!owner.starts_with(here)) return false;
  std::istringstream rest(owner.substr(here.size()));
  std::string process, start;
  rest >> process >> start;
  return began(process) != start;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

RunOwner this_process(double lease_s) {
  const std::string process = std::to_string(getpid());
  const std::string here = place();
  RunOwner owner;
  owner.name = fmt::format("{} {} {}", here, process, began(process));
  owner.host = here.substr(0, here.find(' '));
  owner.lease_s = lease_s;
  owner.now = seconds_since_1970;
  owner.is_gone = has_ended;
  return owner;
}

}  // namespace foretoken

#include "tests/speed/program.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "sim/base/error.hpp"

#ifdef FORETOKEN_PROGRAM
namespace foretoken {

std::string program_output(const std::string& arguments) {
  const std::string command = "cd " FORETOKEN_SOURCE_DIR " && " FORETOKEN_PROGRAM " " + arguments;
  std::FILE* pipe = popen(command.c_str(), "r");
  FORETOKEN_CHECK(pipe != nullptr, "cannot run {}", command);
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe)) {
    text.append(piece.data(), size);
  }
  const int status = pclose(pipe);
  FORETOKEN_CHECK(status == 0, "{} ended with status {}", command, status);
  return text;
}

}  // namespace foretoken
#endif

// What a process in the sandbox may and may not do, tried in a child each.
#include "calibration/tune/device/sandbox.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/private_folder.hpp"

namespace foretoken::tune {
namespace {

constexpr int unbound = 99;  // the kernel or the build does not offer the bound

/// The errno (0: it was allowed) of what `act` tries in a sandbox, or -signal that ended the child.
int outcome_in_sandbox(const std::string& bound, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string missing = enter_sandbox();
    _exit(missing.find(bound) != std::string::npos ? unbound : act());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int errno_of(int result) { return result < 0 ? errno : 0; }

int write_at(const std::filesystem::path& path) {
  return errno_of(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

#define SKIP_IF_UNBOUND(outcome) \
  if ((outcome) == unbound) GTEST_SKIP() << "not offered here"

TEST(Sandbox, NoNetworkButLocalSockets) {
  for (const int family : {AF_INET, AF_INET6}) {
    const int outcome =
        outcome_in_sandbox("seccomp", [&] { return errno_of(socket(family, SOCK_STREAM, 0)); });
    SKIP_IF_UNBOUND(outcome);
    EXPECT_EQ(outcome, EPERM);
  }
  EXPECT_EQ(outcome_in_sandbox("seccomp", [] { return errno_of(socket(AF_UNIX, SOCK_STREAM, 0)); }),
            0);
}

TEST(Sandbox, NoOtherPrograms) {
  const int outcome = outcome_in_sandbox("seccomp", [] {
    execl("/bin/true", "true", nullptr);
    return errno;
  });
  SKIP_IF_UNBOUND(outcome);
  EXPECT_EQ(outcome, EPERM);
}

TEST(Sandbox, WritesTemporaryFilesAlone) {
  const PrivateFolder folder("foretoken-sandbox");
  const std::filesystem::path outside = std::filesystem::current_path() / "written_from_sandbox";
  const int outcome = outcome_in_sandbox("Landlock", [&] { return write_at(outside); });
  SKIP_IF_UNBOUND(outcome);
  EXPECT_EQ(outcome, EACCES);
  EXPECT_FALSE(std::filesystem::exists(outside));
  EXPECT_EQ(outcome_in_sandbox("Landlock", [&] { return write_at(folder.path() / "inside"); }), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "inside"));
}

TEST(Sandbox, FilesAreBounded) {
  const PrivateFolder folder("foretoken-sandbox");
  const int outcome = outcome_in_sandbox("limits", [&] {
    signal(SIGXFSZ, SIG_IGN);
    const int file = open((folder.path() / "large").c_str(), O_WRONLY | O_CREAT, 0600);
    return errno_of(static_cast<int>(pwrite(file, "x", 1, 300LL << 20)));
  });
  SKIP_IF_UNBOUND(outcome);
  EXPECT_EQ(outcome, EFBIG);
}

}  // namespace
}  // namespace foretoken::tune

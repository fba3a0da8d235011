#include "calibration/tune/device/sandbox.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>

#ifdef FORETOKEN_HAS_SECCOMP
#include <seccomp.h>
#endif

namespace foretoken::tune {
namespace {

constexpr rlim_t file_bytes_max = 256U << 20U;
/// Host memory that the process itself fills; what drivers only reserve is not counted.
constexpr rlim_t data_bytes_max = rlim_t{32} << 30U;
constexpr rlim_t processor_seconds_max = 3600;

bool limit(int what, rlim_t most) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) != 0) return false;
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most) most = now.rlim_max;
  const rlimit wanted{most, most};
  return setrlimit(static_cast<__rlimit_resource_t>(what), &wanted) == 0;
}

constexpr std::uint64_t writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                  LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                  LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO;

bool allow_writing(int rules, const std::filesystem::path& folder) {
  const int place = open(folder.c_str(), O_PATH | O_CLOEXEC);
  if (place < 0) return errno == ENOENT;
  const landlock_path_beneath_attr beneath{writing, place};
  const bool is_added =
      syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
  close(place);
  return is_added;
}

bool bound_files() {
  const landlock_ruleset_attr handled{writing};
  const auto rules =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
  if (rules < 0) return false;
  const bool is_bound = allow_writing(rules, std::filesystem::temp_directory_path()) &&
                        allow_writing(rules, "/dev") && allow_writing(rules, "/proc") &&
                        syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return is_bound;
}

bool bound_calls() {
#ifdef FORETOKEN_HAS_SECCOMP
  struct End {
    void operator()(void* filter) const { seccomp_release(filter); }
  };
  const std::unique_ptr<void, End> filter(seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return false;
  const std::uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
  for (const int family : {AF_INET, AF_INET6, AF_PACKET, AF_VSOCK}) {
    const scmp_arg_cmp is_family = SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family));
    if (seccomp_rule_add_array(filter.get(), refuse, SCMP_SYS(socket), 1, &is_family) != 0)
      return false;
  }
  for (const int call :
       {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
        SCMP_SYS(process_vm_writev), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
        SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(bpf), SCMP_SYS(io_uring_setup),
        SCMP_SYS(keyctl), SCMP_SYS(open_by_handle_at), SCMP_SYS(init_module),
        SCMP_SYS(finit_module), SCMP_SYS(kexec_load), SCMP_SYS(reboot)}) {
    if (seccomp_rule_add_array(filter.get(), refuse, call, 0, nullptr) != 0) return false;
  }
  return seccomp_load(filter.get()) == 0;
#else
  return false;
#endif
}

}  // namespace

std::string enter_sandbox() {
  std::string missing;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  expect(limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, file_bytes_max) &&
             limit(RLIMIT_DATA, data_bytes_max) && limit(RLIMIT_CPU, processor_seconds_max),
         "limits");
  const bool is_meek = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  expect(is_meek && bound_files(), "files (Landlock)");
  expect(is_meek && bound_calls(), "network and programs (seccomp)");
  return missing;
}

}  // namespace foretoken::tune

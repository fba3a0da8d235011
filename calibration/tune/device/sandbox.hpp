// What the process beside the GPU may not do once it serves: sources that it compiles and kernels
// that it runs come from whoever rewrites, a language model among them.
//
// No network, no other programs, no tracing or mounting (seccomp); no file is written outside of
// the folder for temporary files, /dev and /proc (Landlock); bounded files, memory of its own and
// processor time (limits). The time of an answer is bounded by who asks (device_client.hpp), and a
// kernel sees the GPU's memory of its own process alone. Left out: files can be read as the user
// can read them, since drivers and libraries may lie anywhere.
#pragma once

#include <string>

namespace foretoken::tune {

/// For the rest of this process and what it starts. Goes on without what the kernel or the build
/// does not offer, and says so: "" if all of it holds.
std::string enter_sandbox();

}  // namespace foretoken::tune

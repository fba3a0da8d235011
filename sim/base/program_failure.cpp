#include "sim/base/program_failure.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>

#include "sim/base/error.hpp"
#include "sim/base/interrupted.hpp"

namespace foretoken {

ProgramFailure current_program_failure() {
  try {
    throw;
  } catch (const ConfigError& error) {
    return {2, error.what()};
  } catch (const PredictionError& error) {
    return {2, fmt::format("cannot price this: {}", error.what())};
  } catch (const std::filesystem::filesystem_error& error) {
    return {2, fmt::format("{}: {}", error.path1().string(), error.code().message())};
  } catch (const std::logic_error& error) {  // InternalError, and what the libraries think of us
    return {3, fmt::format("internal error, please report it:\n{}", error.what())};
  } catch (const std::bad_alloc&) {
    return {1,
            "out of memory: simulate fewer requests at once, a shorter part of the trace "
            "(workload.part), or fewer GPUs"};
  } catch (const Interrupted& stopped) {
    return {status_interrupted, stopped.what()};
  } catch (const std::exception& error) {
    return {1, error.what()};
  } catch (...) {
    return {3, "internal error, please report it: an unknown exception"};
  }
}

}  // namespace foretoken

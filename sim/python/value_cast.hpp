// Python objects as Value and back. Dicts, lists, tuples, strings, numbers, booleans and paths have
// a counterpart; None stands for a member that is not there.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "sim/base/value.hpp"

namespace foretoken {

/// `name` is how messages call the object: "scenario". Throws ConfigError for what has no
/// counterpart, naming the member.
Value value_of(const pybind11::handle& object, const std::string& name);

pybind11::object object_of(const Value& value);

}  // namespace foretoken

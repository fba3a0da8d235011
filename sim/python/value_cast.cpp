#include "sim/python/value_cast.hpp"

namespace py = pybind11;

namespace foretoken {
namespace {

std::int64_t integer_of(const py::handle& object, const std::string& name) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow != 0) throw ConfigError({name}, "is an integer beyond 64 bits");
  return value;
}

Value object_value(const py::dict& members, const std::string& name) {
  Value value;
  for (const auto& [key, member] : members) {
    if (!py::isinstance<py::str>(key)) {
      throw ConfigError({name}, "has a key that is not a string: " + std::string(py::repr(key)));
    }
    const auto text = key.cast<std::string>();
    if (!member.is_none()) value.set(text, value_of(member, name + "." + text));
  }
  return value;
}

}  // namespace

Value value_of(const py::handle& object, const std::string& name) {
  Value value;
  if (py::isinstance<py::bool_>(object)) {
    value = object.cast<bool>();
  } else if (py::isinstance<py::int_>(object)) {
    value = integer_of(object, name);
  } else if (py::isinstance<py::float_>(object)) {
    value = object.cast<double>();
  } else if (py::isinstance<py::str>(object) || py::hasattr(object, "__fspath__")) {
    value = std::string(py::str(object));
  } else if (py::isinstance<py::dict>(object)) {
    value = object_value(object.cast<py::dict>(), name);
  } else if (py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object)) {
    ValueArray elements;
    for (const py::handle element : object) {
      elements.push_back(value_of(element, name + "[" + std::to_string(elements.size()) + "]"));
    }
    value = std::move(elements);
  } else if (py::hasattr(object, "tolist")) {
    // NumPy's scalars and arrays, pandas' columns: as what Python calls the same.
    return value_of(py::object(object.attr("tolist")()), name);
  } else if (py::hasattr(object, "__index__")) {
    value = integer_of(py::object(object.attr("__index__")()), name);
  } else {
    throw ConfigError(
        {name}, "is of type " + std::string(py::str(py::type::handle_of(object).attr("__name__"))) +
                    "; dicts, lists, strings, numbers and booleans can be read");
  }
  value.position = {name};
  return value;
}

py::object object_of(const Value& value) {
  return std::visit(
      [](const auto& data) -> py::object {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, ValueObject>) {
          py::dict members;
          for (const auto& [key, member] : data) members[py::str(key)] = object_of(member);
          return members;
        } else if constexpr (std::is_same_v<Data, ValueArray>) {
          py::list elements;
          for (const Value& element : data) elements.append(object_of(element));
          return elements;
        } else {
          return py::cast(data);
        }
      },
      value.data);
}

}  // namespace foretoken

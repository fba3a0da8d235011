// Numbers of a command line, read whole or refused by the option's name.
#pragma once

#include <charconv>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace foretoken::measure {

/// Throws std::runtime_error unless all of `text` is a number that a Value holds.
template <typename Value>
Value number_of(const std::string& option, const std::string& text) {
  Value value = {};
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && read == end) return value;
  throw std::runtime_error(option + " wants a " +
                           (std::is_integral_v<Value> ? "whole number" : "number") + ", not \"" +
                           text + "\"");
}

}  // namespace foretoken::measure

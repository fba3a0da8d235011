// Arithmetic over a problem's dimensions and a kernel's parameters, as its header writes it:
// "ceildiv(n, BLOCK * VEC)", "FUSED == 1 ? 4 * rows : 0". Numbers are doubles (exact up to 2^53),
// so a division is not rounded. Operators as in C: ?: || && == != < <= > >= + - * / % !, unary
// minus; functions ceildiv, min, max, sqrt.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace foretoken::tune {

/// What names stand for.
using Names = std::map<std::string, double, std::less<>>;

/// The value of `text`. A mistake in it, an unknown name or a division by zero is a ConfigError at
/// `position`.
double evaluate(std::string_view text, const Names& names, const SourcePosition& position = {});

}  // namespace foretoken::tune

#include "kernels/networks/half_text.hpp"

#include <Eigen/Core>
#include <array>
#include <cstdint>

namespace foretoken {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> digit_values() {
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

}  // namespace

std::string encode_halves(const std::vector<float>& numbers) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  const auto put = [&](std::uint32_t byte) {
    bits = bits << 8 | byte;
    count += 8;
    while (count >= 6) {
      text += digits[bits >> (count - 6) & 63U];
      count -= 6;
    }
  };
  for (const float number : numbers) {
    const std::uint16_t half = Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(number));
    put(half & 255U);
    put(half >> 8U);
  }
  if (count > 0) text += digits[bits << (6 - count) & 63U];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::optional<std::vector<float>> decode_halves(std::string_view text, std::size_t count) {
  static constexpr auto values = digit_values();
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() != (count * 16 + 5) / 6) return std::nullopt;
  std::vector<float> numbers(count);
  std::uint32_t bits = 0, half = 0;
  int have = 0;
  std::size_t byte = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    const std::uint32_t octet = bits >> have & 255U;
    half = byte % 2 == 0 ? octet : half | octet << 8;
    if (byte % 2 == 1) {
      const auto word = static_cast<std::uint16_t>(half);
      numbers[byte / 2] = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(word));
    }
    ++byte;
  }
  return numbers;
}

}  // namespace foretoken

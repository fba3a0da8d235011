#include "sim/base/json.hpp"

#include <nlohmann/json.hpp>

#include "sim/base/file_text.hpp"
#include "sim/base/json_events.hpp"
#include "sim/base/json_tree.hpp"

namespace foretoken {
namespace {

using Json = nlohmann::ordered_json;

/// The longest document that is parsed; its tree takes up to 60 times as much memory.
constexpr std::size_t json_bytes_max = std::size_t{32} << 20;

/// null members are dropped.
class TreeHandler final : public JsonHandler {
 public:
  explicit TreeHandler(const SourcePosition& position) : tree_(position) {}
  void null() override {
    if (tree_.is_whole()) tree_.add(Value());
  }
  void scalar(Value value) override { tree_.add(std::move(value)); }
  void open(Value empty) override { tree_.open(std::move(empty)); }
  void key(std::string name) override { tree_.key(std::move(name)); }
  void close() override { tree_.close(); }
  Value take() { return tree_.take(); }

 private:
  JsonTree tree_;
};

Json convert(const Value& value) {
  return std::visit(
      [](const auto& data) -> Json {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, ValueObject>) {
          Json object = Json::object();
          // Past its operator[], which looks through all members for each.
          auto& members =
              static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
          for (const auto& [key, member] : data) members.emplace_back(key, convert(member));
          return object;
        } else if constexpr (std::is_same_v<Data, ValueArray>) {
          Json array = Json::array();
          for (const Value& element : data) array.push_back(convert(element));
          return array;
        } else {
          return data;
        }
      },
      value.data);
}

/// JSON may hold DEL and the C1 controls as they are; a terminal would obey them.
std::string escaped(std::string text) {
  const auto is_control = [&](std::size_t i) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    return byte(i) == 0x7F || (byte(i) == 0xC2 && i + 1 < text.size() && byte(i + 1) < 0xA0);
  };
  for (std::size_t i = text.find_first_of("\x7F\xC2"); i != std::string::npos;
       i = text.find_first_of("\x7F\xC2", i + 1)) {
    if (!is_control(i)) continue;
    const std::size_t bytes = text[i] == '\x7F' ? 1 : 2;
    const auto code = static_cast<unsigned char>(text[i + bytes - 1]);
    text.replace(i, bytes, fmt::format("\\u{:04x}", static_cast<unsigned>(code)));
  }
  return text;
}

}  // namespace

Value parse_json(std::string_view text, const SourcePosition& position) {
  if (text.size() > json_bytes_max) throw ConfigError(position, too_long_message(json_bytes_max));
  TreeHandler tree(position);
  parse_json_events(text, position, false, tree);
  return tree.take();
}

Value load_json(const std::filesystem::path& path) {
  return parse_json(file_text(path, json_bytes_max), {path.string()});
}

std::string to_json(const Value& value, int indent) {
  // A path in a string need not be UTF-8; writing it must not throw.
  return escaped(convert(value).dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace foretoken

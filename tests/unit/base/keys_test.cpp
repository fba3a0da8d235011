// One declaration reads a table, checks it, writes it back and documents it.

#include "sim/base/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/toml.hpp"

namespace foretoken::keys_test {
namespace {

enum class Colour { red, green };

}  // namespace
}  // namespace foretoken::keys_test

namespace foretoken {
template <>
struct EnumNames<keys_test::Colour> {
  static constexpr auto names = std::to_array<std::string_view>({"red", "green"});
};
}  // namespace foretoken

namespace foretoken::keys_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Settings {
  int count = 3;
  Seconds wait{0.5};
  std::optional<Seconds> end;
  bool is_on = true;
  Colour colour = Colour::red;
  std::vector<int> sizes;
  double share = 0.5;
  std::string name;
};

const Keys<Settings>& settings_keys() {
  using S = Settings;
  static const Keys<S> keys = {
      {"count", &S::count, {.range = foretoken::count(), .unit = "things"}, "How many."},
      {"wait", &S::wait, {.range = not_negative(), .quiet = true}, "How long."},
      {"end", &S::end, {.range = above(0)}, "When."},
      {"is_on", &S::is_on, {.quiet = true}, "Whether."},
      {"colour", &S::colour, {}, "Which."},
      {"sizes", &S::sizes, {.range = at_least(1), .quiet = true}, "How large."},
      Key<S>("share", &S::share, {.range = foretoken::share("is a share")}, "What part.")
          .written_if([](const S& s) { return s.colour == Colour::green; }),
      {"name", &S::name, {.required = true}, "Who."},
  };
  return keys;
}

std::string mistakes_of(const std::string& toml, Settings* out = nullptr) {
  Diagnostics diagnostics;
  const Value root = parse_toml(toml, "a.toml");
  TableReader table(root, diagnostics, "t");
  Settings settings;
  settings_keys().read(table, settings);
  table.finish();
  if (out != nullptr) *out = settings;
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Keys, ReadWhatIsThereAndKeepDefaults) {
  Settings settings;
  EXPECT_EQ(
      mistakes_of("name = \"n\"\nend = \"2 s\"\ncolour = \"green\"\nsizes = [1, 2]", &settings),
      "");
  EXPECT_EQ(settings.count, 3);
  EXPECT_EQ(settings.end, Seconds(2.0));
  EXPECT_EQ(settings.colour, Colour::green);
  EXPECT_THAT(settings.sizes, ElementsAre(1, 2));
}

TEST(Keys, TellEveryMistakeAtItsKey) {
  const std::string told = mistakes_of(
      "count = 0\nwait = \"-1 s\"\nend = \"0 s\"\ncolour = \"blue\"\nsizes = [1, 0]\nshare = 1.5\n"
      "cuont = 1");
  EXPECT_THAT(told, HasSubstr("a.toml:1:1: t.count: must be at least 1, not 0"));
  EXPECT_THAT(told, HasSubstr("a.toml:2:1: t.wait: must not be negative"));
  EXPECT_THAT(told, HasSubstr("a.toml:3:1: t.end: must be above 0"));
  EXPECT_THAT(told, HasSubstr("t.colour: unknown value 'blue'"));
  EXPECT_THAT(told, HasSubstr("a.toml:5:1: t.sizes: must be at least 1"));
  EXPECT_THAT(told, HasSubstr("a.toml:6:1: t.share: is a share"));
  EXPECT_THAT(told, HasSubstr("unknown key 'cuont' in [t]; did you mean 'count'?"));
  EXPECT_THAT(told, HasSubstr("[t] lacks 'name'"));
}

TEST(Keys, WriteWhatReadsBackTheSame) {
  Settings settings;
  settings.name = "n";
  EXPECT_EQ(to_toml(settings_keys().table(settings)),
            "count = 3\ncolour = \"red\"\nname = \"n\"\n");
  // What was set away from its default is written, zeros and false too.
  settings.wait = Seconds(0.0);
  settings.is_on = false;
  settings.colour = Colour::green;
  const std::string text = to_toml(settings_keys().table(settings));
  EXPECT_EQ(text,
            "count = 3\nwait = \"0 s\"\nis_on = false\ncolour = \"green\"\nshare = 0.5\n"
            "name = \"n\"\n");
  Settings again;
  EXPECT_EQ(mistakes_of(text, &again), "");
  EXPECT_EQ(again.wait, Seconds(0.0));
  EXPECT_FALSE(again.is_on);
}

TEST(Keys, WriteAllOverAPreset) {
  Value all;
  settings_keys().write(Settings(), all, true);
  EXPECT_NE(all.find("wait"), nullptr);
  EXPECT_NE(all.find("sizes"), nullptr);
  EXPECT_EQ(all.find("end"), nullptr) << "no value stands for its absence";
}

TEST(Keys, DocumentThemselves) {
  const std::vector<KeyNote> notes = settings_keys().notes();
  const auto text = [](const KeyNote& note) {
    return fmt::format("{}|{}|{}|{}|{}", note.name, note.type, note.unit, note.fallback,
                       note.allowed);
  };
  EXPECT_EQ(text(notes[0]), "count|integer|things|3|1 or more");
  EXPECT_EQ(text(notes[1]), "wait|time|500 ms|\"0.5 s\"|0 or more");
  EXPECT_EQ(text(notes[2]), "end|time|500 ms|not set|above 0");
  EXPECT_EQ(text(notes[3]), "is_on|boolean||true|");
  EXPECT_EQ(text(notes[4]), "colour|string||\"red\"|red, green");
  EXPECT_EQ(text(notes[5]), "sizes|list of integers||[]|1 or more");
  EXPECT_EQ(text(notes[6]), "share|number||0.5|above 0, at most 1");
  EXPECT_EQ(text(notes[7]), "name|string||required|");
}

TEST(Keys, AKeyOfAnotherTableIsSentHome) {
  Diagnostics diagnostics;
  const Value root = parse_toml("tensor_parallel = 2", "a.toml");
  TableReader table(root, diagnostics, "engine");
  int count = 0;
  table.read("count", count);
  table.finish([](std::string_view key) {
    return key == "tensor_parallel" ? std::string("[deployment]") : "";
  });
  EXPECT_THAT(([&] { diagnostics.throw_if_any(); }),
              testing::ThrowsMessage<ConfigError>(HasSubstr(
                  "unknown key 'tensor_parallel' in [engine]; it belongs to [deployment]")));
}

}  // namespace
}  // namespace foretoken::keys_test

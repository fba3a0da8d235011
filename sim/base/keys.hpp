// What a table of a file may hold, said once: each key with the member it sets, the range of its
// values and what a person should know of it. The same list reads the table, checks it, writes it
// back and documents it (`foretoken keys`). What two keys mean together is checked by hand, after
// reading.
//
//   const Keys<FrontEndSettings>& front_end_keys() {
//     static const Keys<FrontEndSettings> keys = {
//         {"attempts_max", &FrontEndSettings::attempts_max, {.range = at_least(1)},
//          "Attempts at a request whose replicas fail, the first included."},
//     };
//     return keys;
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/key_form.hpp"

namespace foretoken {

/// A key as documentation shows it; texts in TOML's spelling where they are values.
struct KeyNote {
  std::string name = {};
  std::string type = {};      // "integer", "time", "boolean" …
  std::string unit = {};      // "tokens"; of a quantity an example: "500 ms"; "" = none
  std::string fallback = {};  // what an absent key means: a value, "required", "not set" …
  std::string allowed = {};   // "1 or more", "greedy, top_k"; "" = anything of the type
  std::string meaning = {};   // one to three sentences
};

/// A table as documentation shows it.
struct KeyTable {
  std::string name;       // "engine.speculative"
  std::string condition;  // under which these keys exist: scheduler = "sglang"; "" = always
  std::string about;      // a sentence
  std::vector<KeyNote> keys;
};

struct KeyRules {
  Range range = {};
  std::string unit = {};  // of a plain number
  std::string fallback =
      {};                    // where the member's own default does not say what an absent key means
  std::string allowed = {};  // where neither type nor range says it
  bool required = false;
  bool quiet = false;  // written back only where it differs from its default
};

/// A key of a table that sets a struct, whichever: what every Key has in common.
class AnyKey {
 public:
  using Member = std::function<void*(void* settings)>;
  using Read = std::function<void(TableReader&, void* settings)>;
  using Write = std::function<std::optional<Value>(const void* settings)>;

  [[nodiscard]] const KeyNote& note() const { return note_; }
  void read(TableReader& table, void* settings) const { read_(table, settings); }
  /// What stands in the file for `settings`; nullopt: the key is absent.
  [[nodiscard]] std::optional<Value> write(const void* settings) const { return write_(settings); }
  /// Whether an equal value would come of the key's absence.
  [[nodiscard]] bool is_left_out(const void* settings, const void* defaults) const;

 protected:
  AnyKey(std::string name, const MemberForm& form, Member member, const void* defaults,
         KeyRules rules, std::string meaning);
  AnyKey(KeyNote note, Read read, Write write, bool is_quiet)
      : note_(std::move(note)),
        read_(std::move(read)),
        write_(std::move(write)),
        is_quiet_(is_quiet) {}

  void write_if(std::function<bool(const void* settings)> has_meaning);

 private:
  KeyNote note_;
  Read read_;
  Write write_;
  bool is_quiet_ = false;
};

/// One key of the table that sets an S.
template <class S>
class Key : public AnyKey {
 public:
  /// `member` is a pointer to a member of S, or a callable that takes an S to one.
  template <class Member>
  Key(std::string name, Member member, KeyRules rules, std::string meaning)
      : AnyKey(
            std::move(name), member_form<std::remove_cvref_t<std::invoke_result_t<Member, S&>>>(),
            [member](void* settings) -> void* {
              return &std::invoke(member, *static_cast<S*>(settings));
            },
            &defaults(), std::move(rules), std::move(meaning)) {}

  /// A key with a form of its own: how it is read, and what is written back (nullopt: nothing).
  Key(KeyNote note, std::function<void(TableReader&, S&)> read,
      std::function<std::optional<Value>(const S&)> write, bool is_quiet = false)
      : AnyKey(
            std::move(note),
            [read = std::move(read)](TableReader& table, void* settings) {
              read(table, *static_cast<S*>(settings));
            },
            [write = std::move(write)](const void* settings) {
              return write(*static_cast<const S*>(settings));
            },
            is_quiet) {}

  /// A key that has no meaning elsewhere, and is not written back there.
  Key written_if(std::function<bool(const S&)> has_meaning) && {
    write_if([has_meaning = std::move(has_meaning)](const void* settings) {
      return has_meaning(*static_cast<const S*>(settings));
    });
    return std::move(*this);
  }

  static const S& defaults() {
    static const S settings{};
    return settings;
  }
};

/// The keys of a table, in the order in which they are read and written.
class AnyKeys {
 public:
  explicit AnyKeys(std::vector<AnyKey> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] std::vector<KeyNote> notes() const;

 protected:
  void read(TableReader& table, void* settings) const;
  void write(const void* settings, const void* defaults, Value& table, bool all) const;

 private:
  std::vector<AnyKey> keys_;
};

/// The keys of a table that sets an S.
template <class S>
class Keys : public AnyKeys {
 public:
  Keys(std::initializer_list<Key<S>> keys) : AnyKeys({keys.begin(), keys.end()}) {}

  /// Reads every key that is there. Does not finish the table: others may have keys in it.
  void read(TableReader& table, S& settings) const { AnyKeys::read(table, &settings); }
  /// Sets in `table` what reads back to `settings`; quiet keys at their defaults too if `all`.
  void write(const S& settings, Value& table, bool all = false) const {
    AnyKeys::write(&settings, &Key<S>::defaults(), table, all);
  }
  [[nodiscard]] Value table(const S& settings) const {
    Value out;
    write(settings, out);
    return out;
  }
};

}  // namespace foretoken

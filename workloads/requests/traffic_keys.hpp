// Forms that several keys of [workload] have: times of a sane length, lengths in tokens.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sim/base/keys.hpp"
#include "workloads/requests/arrival_process.hpp"
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {

/// A time up to 1e10 s (expect_time). `note` needs no type and no unit.
template <class S>
Key<S> time_key(KeyNote note, Seconds S::*member, bool zero_is_fine) {
  note.type = "time";
  note.unit = quantity_example<Seconds>();
  if (note.allowed.empty()) note.allowed = zero_is_fine ? "0 or more" : "above 0";
  if (note.fallback.empty()) note.fallback = detail::value_text(exact_text(S().*member));
  const bool is_required = note.fallback == "required";
  const std::string name = note.name;
  return {
      std::move(note),
      [=](TableReader& table, S& settings) {
        if (is_required && !table.has(name)) return;
        if (table.read(name, settings.*member))
          expect_time(table, name, settings.*member, zero_is_fine);
      },
      [member](const S& settings) -> std::optional<Value> { return exact_text(settings.*member); }};
}

/// `rate`, which every open process has (read_rate).
template <class S>
Key<S> rate_key(PerSecond S::*member) {
  return {
      {.name = "rate",
       .type = "rate",
       .unit = std::string(quantity_example<PerSecond>()),
       .fallback = "required",
       .allowed = "1e-9 /s to 1e9 /s",
       .meaning = "Mean number of requests that arrive in a second."},
      [member](TableReader& table, S& settings) { settings.*member = read_rate(table); },
      [member](const S& settings) -> std::optional<Value> { return exact_text(settings.*member); }};
}

/// A number of tokens (or turns) or a distribution of them.
template <class S>
Key<S> length_key(KeyNote note, std::shared_ptr<const LengthDistribution> S::*member,
                  const LengthInputs& inputs, const LengthRegistry& registry) {
  note.type = "integer or table";
  note.allowed = "1 or more, or { distribution = \"…\", … }";
  const std::string name = note.name;
  const bool is_optional = note.fallback.starts_with("not set");
  return {std::move(note),
          [=, &registry](TableReader& table, S& settings) {
            if (is_optional && table.find(name) == nullptr) return;
            settings.*member = read_lengths(table, name, inputs, registry);
          },
          [member](const S& settings) -> std::optional<Value> {
            if (settings.*member == nullptr) return std::nullopt;
            return (settings.*member)->resolved();
          }};
}

}  // namespace foretoken

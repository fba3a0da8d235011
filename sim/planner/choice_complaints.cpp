#include "sim/planner/choice_complaints.hpp"

#include <algorithm>

namespace foretoken {
namespace {

// Of reasons why nothing can be: more are no help.
constexpr std::size_t reasons_max = 8;

/// The keys that a value of the axis sets.
std::vector<std::string> keys_of(const LayoutChoice& axis) {
  return axis.parts.empty() ? std::vector<std::string>{axis.key} : axis.parts;
}

bool same(const Diagnostic& one, const Diagnostic& other) {
  return one.message == other.message && one.position.file == other.position.file &&
         one.position.line == other.position.line;
}

}  // namespace

ChoiceComplaints::ChoiceComplaints(const std::vector<LayoutChoice>& axes) : axes_(axes) {
  for (const LayoutChoice& axis : axes) values_.emplace_back(axis.values.size());
}

std::size_t ChoiceComplaints::value_index(std::size_t axis, const Layout& layout) const {
  const auto& values = axes_[axis].values;
  return static_cast<std::size_t>(std::ranges::find(values, layout.values[axis]) - values.begin());
}

bool ChoiceComplaints::is_known(const Layout& layout) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!values_[axis][value_index(axis, layout)].is_accepted) return false;
  }
  return any_accepted_;
}

void ChoiceComplaints::accept(const Layout& layout) {
  any_accepted_ = true;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    values_[axis][value_index(axis, layout)].is_accepted = true;
}

Diagnostic ChoiceComplaints::placed(const Diagnostic& diagnostic, const Layout& layout,
                                    std::optional<std::size_t>& axis) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const bool is_about = std::ranges::any_of(keys_of(axes_[i]), [&](const std::string& key) {
      return diagnostic.position.file.starts_with("--set " + key + "=");
    });
    if (!is_about) continue;
    axis = i;
    const std::size_t index = value_index(i, layout);
    if (index >= axes_[i].positions.size()) return diagnostic;
    return {axes_[i].positions[index], diagnostic.message, diagnostic.mistake};
  }
  return diagnostic;
}

void ChoiceComplaints::refuse(const Layout& layout, const ConfigError& error) {
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    std::optional<std::size_t> axis;
    Diagnostic complaint = placed(diagnostic, layout, axis);
    if (axis && complaint.mistake == Mistake::slip)
      values_[*axis][value_index(*axis, layout)].slip = complaint;
    const bool is_known =
        std::ranges::any_of(all_, [&](const Diagnostic& other) { return same(complaint, other); });
    if (!is_known) all_.push_back(std::move(complaint));
  }
}

void ChoiceComplaints::throw_if_any() const {
  Diagnostics slips;
  std::vector<Diagnostic> told;  // an unknown key is that with each of its values
  for (const auto& values : values_) {
    for (const Complaint& value : values) {
      if (value.is_accepted || !value.slip) continue;
      const bool is_told = std::ranges::any_of(
          told, [&](const Diagnostic& other) { return same(*value.slip, other); });
      if (is_told) continue;
      told.push_back(*value.slip);
      slips.add(value.slip->position, value.slip->message, Mistake::slip);
    }
  }
  slips.throw_if_any();
  if (any_accepted_) return;
  Diagnostics reasons;
  for (std::size_t i = 0; i < std::min(all_.size(), reasons_max); ++i)
    reasons.add(all_[i].position, all_[i].message, all_[i].mistake);
  reasons.throw_if_any();
}

void check_choices(const std::vector<LayoutChoice>& choices,
                   const std::function<void(const RunRequest&)>& check) {
  ChoiceComplaints complaints(choices);
  for (const Layout& layout : combinations(choices)) {
    if (complaints.is_known(layout)) continue;
    try {
      check(layout.request(choices));
      complaints.accept(layout);
    } catch (const ConfigError& error) {
      complaints.refuse(layout, error);
    }
  }
  complaints.throw_if_any();
}

}  // namespace foretoken

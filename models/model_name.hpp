// What people and Hugging Face call models, and the names of the built-in specs:
// "meta-llama/Llama-3.1-8B-Instruct" is llama-3.1-8b.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/transformer.hpp"

namespace foretoken {

/// "organisation/name": one slash between two names, and no file's ending.
bool is_model_id(std::string_view text);

/// A built-in model by another name than its own, in any case, with or without the organisation:
/// fine-tunes of one architecture (…-Instruct) are that model, and what was quantised under a name
/// that says so (…-FP8, …-AWQ) has that format. nullopt for one that is none.
struct NamedModel {
  std::string name;               // "llama-3.1-8b"
  std::optional<DType> released;  // that the name says
};
std::optional<NamedModel> model_named(std::string_view text);

/// The format that a word of the name says, whatever model it is.
std::optional<DType> model_format_in(std::string_view text);

/// For an id or name that no built-in model answers to: the nearest, and what else can be done.
std::string unknown_model_message(std::string_view text);

}  // namespace foretoken

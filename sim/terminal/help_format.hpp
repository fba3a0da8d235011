// --help as wide as the terminal: CLI11 2.1 breaks no lines.
#pragma once

#include <CLI/CLI.hpp>

namespace foretoken {

class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace foretoken

// LaunchTemplate: the command that starts a program on a host, as `--launcher` gives it: "ssh", "srun", or
// any other with {host} where the host's name belongs. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::run {

class LaunchTemplate {
 public:
  /// Words stand apart by blanks; '...' and "..." keep them. An Error (usage) where {host} is missing.
  static Result<LaunchTemplate> parse(std::string_view text);

  /// The whole command. What ssh passes to a shell is quoted for it.
  std::vector<std::string> command(const std::string& host, const std::vector<std::string>& program) const;
  /// As it was given.
  const std::string& text() const { return text_; }

 private:
  LaunchTemplate(std::string text, std::vector<std::string> words, bool passes_a_shell)
      : text_(std::move(text)), words_(std::move(words)), passes_a_shell_(passes_a_shell) {}
  std::string text_;
  std::vector<std::string> words_;
  bool passes_a_shell_;
};

}  // namespace weft::run

// Completion for shells, made of what the commands say of themselves: a text that the shell reads. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/pages.hpp"

namespace weft::cli {

std::string bash_completion(std::span<const CommandPage> all);
std::string zsh_completion(std::span<const CommandPage> all);

}  // namespace weft::cli

// Whatever the bytes: an error, or settings of which every command makes words that it can read, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/configuration.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::cli;
  static const std::vector<CommandPage> pages = command_pages();
  const auto settings = parse_configuration({reinterpret_cast<const char*>(data), size}, "fuzz", pages);
  if (!settings) return 0;
  for (const CommandPage& page : pages)
    for (const InForce& option : in_force(page, std::vector{*settings})) {
      const auto words = as_words(option);
      if (words && !words->empty() && !words->front().starts_with("--" + option.option.name)) std::abort();
    }
  return 0;
}

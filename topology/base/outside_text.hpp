// Text that weft did not write: names in files and in management datagrams, what agents, servers and launched
// programs say. Every reader of such text passes it through here where it enters, so that nothing of it can
// steer a terminal, turn a line around or fake another line, and every text is UTF-8 from then on.
#pragma once

#include <string>
#include <string_view>

namespace weft {

enum class LineBreaks { escaped, kept };

/// The text as it may be shown. Control characters (C0, DEL, C1), line and paragraph separators and the marks
/// that set the direction of writing become visible escapes (`\x1b`, `\u202e`), bytes that are no UTF-8
/// become `\xff`; all else stays. Applied twice it changes nothing more. `kept`: line feeds stay, for
/// messages of our own that quote others.
std::string outside_text(std::string_view text, LineBreaks breaks = LineBreaks::escaped);

/// It may be shown as it is: outside_text would change nothing.
bool is_harmless(std::string_view text);

}  // namespace weft

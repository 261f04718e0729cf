#include "cli/hashed_note.hpp"

#include <algorithm>

#include "cli/exit_status.hpp"
#include "collectors/report/field_table.hpp"

namespace weft::cli {

void note_hashed(const std::vector<PacketField>& hashed, std::string_view where) {
  if (std::ranges::count(hashed, PacketField::queue_pair) > 0)
    print_stderr("weft: {}: {}\n", where, report::kProbesPathsAlone);
}

void note_hashed(const std::optional<FieldFindings>& fields, std::string_view where) {
  if (fields && fields->moves(PacketField::queue_pair) == MovesPath::yes)
    note_hashed({PacketField::queue_pair}, where);
}

}  // namespace weft::cli

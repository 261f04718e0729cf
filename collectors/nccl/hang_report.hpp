// A verdict about a hang for people and for programs (`weft.hang/1`, docs/schema/hang.schema.json). Pure.
#pragma once

#include <string>

#include "collectors/nccl/hang.hpp"
#include "topology/files/document.hpp"

namespace weft::nccl {

/// The verdict in one sentence, then what it rests on, who waits, what is not known and which time limit ends
/// it; no line is wider than `columns`.
std::string hang_text(const HangVerdict& verdict, std::size_t columns);

std::string hang_json(const HangVerdict& verdict, const files::DocumentStamp& stamp);

}  // namespace weft::nccl

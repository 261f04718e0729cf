// The subjects of a run: weft.RUN.TO.FROM, and weft.RUN.TO.FROM.NUMBER where FROM acknowledges a message of
// TO. Names are written so that a dot in a host's name does not split the subject.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/base/ids.hpp"

namespace weft::session {

/// A name as one token of a subject: letters, digits, '-' and '_' as they are, every other byte as =XX.
std::string subject_token(std::string_view name);

std::string subject_of(RunId run, std::string_view to, std::string_view from);
/// All that `from` may send, to whomever.
std::string subject_to_anyone(RunId run, std::string_view from);
/// All that is sent to `to`.
std::string subscription_of(RunId run, std::string_view to);
/// Where `from` tells `to` that message `number` has come.
std::string acknowledgement_subject(RunId run, std::string_view to, std::string_view from,
                                    std::uint32_t number);
/// All that `from` may acknowledge, to whomever; to `to` alone.
std::string acknowledgements_to_anyone(RunId run, std::string_view from);
std::string acknowledgements_to(RunId run, std::string_view to, std::string_view from);
/// All acknowledgements of what `to` sent.
std::string subscription_to_acknowledgements(RunId run, std::string_view to);

struct Acknowledgement {
  std::string from;
  std::uint32_t number = 0;
  friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};
/// Absent when the subject is that of none.
std::optional<Acknowledgement> acknowledgement_in(std::string_view subject);

/// Who sent to this subject; absent when it is not one of ours.
std::optional<std::string> sender_of(std::string_view subject);

}  // namespace weft::session

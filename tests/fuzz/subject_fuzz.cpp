// Subjects of the bus: any bytes as a subject are read without harm, and any names make a subject of four
// words, without wildcards and blanks, from which the sender's name comes back.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "probes/session/subject.hpp"
#include "topology/base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto sender = weft::session::sender_of(bytes)) WEFT_CHECK(sender->size() <= bytes.size());
  if (const auto told = weft::session::acknowledgement_in(bytes))
    WEFT_CHECK(told->from.size() <= bytes.size());
  if (size < 2) return 0;
  const auto cut = 1 + data[0] % (size - 1);
  const auto to = bytes.substr(1, cut - 1);
  const auto from = bytes.substr(cut);
  const weft::RunId run(size);
  const auto subject = weft::session::subject_of(run, to, from);
  WEFT_CHECK(weft::session::sender_of(subject) == from);
  WEFT_CHECK(std::ranges::count(subject, '.') == 3);
  WEFT_CHECK(subject.find_first_of("*> \t\r\n") == std::string::npos);
  const auto acknowledged = weft::session::acknowledgement_subject(run, to, from, data[0]);
  WEFT_CHECK(weft::session::acknowledgement_in(acknowledged) ==
             (weft::session::Acknowledgement{std::string(from), data[0]}));
  const auto inbox = weft::session::subscription_of(run, to);
  WEFT_CHECK(inbox.ends_with(".*") && subject.starts_with(inbox.substr(0, inbox.size() - 1)));
  return 0;
}

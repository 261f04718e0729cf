#include "topology/lab/guests/guest_commands.hpp"

#include "topology/base/json_members.hpp"
#include "topology/lab/guests/guest_stream.hpp"

namespace weft::lab {

using namespace json_members;

/// Words of a program, which may be long.
struct Words {
  std::vector<std::string>& all;
};
static Json write_json(OneValue, const Words& words) { return write_value(words.all); }
static void read_json(OneValue, const Json& from, const Words& into) {
  if (!from.is_array()) throw BadField("an array is expected");
  for (const Json& word : from) into.all.push_back(text(word, kMaxGuestFrame));
}

template <class Io>
static void members(Io& io, GuestCommand& m) {
  io("argv", Words{m.argv});
  io("env", Words{m.env});
  io("stdin", m.with_stdin);
  if (Io::kReads && m.argv.empty()) throw BadField("a command without words");
}

namespace {

constexpr JsonLimits kLimits{.bytes = kMaxGuestFrame, .depth = 2, .values = kMaxGuestFrame};

/// Copies between this process's standard streams and the guest until the program there has ended.
Result<int> relay(const GuestStream& stream, bool with_stdin) {
  bool reading = with_stdin;
  while (true) {
    WEFT_TRY(const auto readable, stream.wait({reading ? 0 : -1, -1}));
    if (readable.other[0]) {
      const std::string text = read_some(0);
      reading = !text.empty();
      WEFT_TRY_VOID(stream.send(reading ? FrameKind::input : FrameKind::input_end, text));
    }
    if (!readable.stream) continue;
    WEFT_TRY(const auto frame, stream.receive());
    if (frame.kind == FrameKind::end) return std::atoi(frame.bytes.c_str());
    write_all(frame.kind == FrameKind::errors ? 2 : 1, frame.bytes);
  }
}

}  // namespace

std::string encode_guest_command(const GuestCommand& command) { return to_text(write_value(command)); }

Result<GuestCommand> decode_guest_command(std::string_view bytes) {
  return read_text<GuestCommand>(bytes, kLimits, "a command");
}

Result<int> run_in_guest(const IpAddress& guest, std::uint16_t port, const GuestCommand& command) {
  WEFT_TRY(const auto stream, GuestStream::connect(guest, port));
  WEFT_TRY_VOID(stream.send(FrameKind::command, encode_guest_command(command)));
  return relay(stream, command.with_stdin);
}

bool answers_commands(const IpAddress& guest, std::uint16_t port) {
  return GuestStream::connect(guest, port).has_value();
}

}  // namespace weft::lab

#include "topology/lab/guests/guest_commands.hpp"

#include <nlohmann/json.hpp>

#include "topology/lab/guests/guest_stream.hpp"

namespace weft {
namespace {

using nlohmann::json;

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

std::string encode_guest_command(const GuestCommand& command) {
  return json{{"argv", command.argv}, {"env", command.env}, {"stdin", command.with_stdin}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

Result<GuestCommand> decode_guest_command(std::string_view bytes) {
  const json value = json::parse(bytes, nullptr, false);
  try {
    GuestCommand command{value.at("argv"), value.at("env"), value.at("stdin").get<bool>()};
    if (command.argv.empty()) return fail(ErrorKind::invalid_input, "a command without words");
    return command;
  } catch (const json::exception& error) {
    return fail(ErrorKind::invalid_input, "no command: {}", error.what());
  }
}

Result<int> run_in_guest(const IpAddress& guest, std::uint16_t port, const GuestCommand& command) {
  WEFT_TRY(const auto stream, GuestStream::connect(guest, port));
  WEFT_TRY_VOID(stream.send(FrameKind::command, encode_guest_command(command)));
  return relay(stream, command.with_stdin);
}

bool answers_commands(const IpAddress& guest, std::uint16_t port) {
  return GuestStream::connect(guest, port).has_value();
}

}  // namespace weft

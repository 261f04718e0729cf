// GivenStream: what a stream's other side sends is given beforehand and comes in pieces; what is sent to it
// is kept. StreamCalls have no object of their own, so the calls serve the one GivenStream of their thread.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "probes/engine/verbs/message_stream.hpp"

namespace weft {

class GivenStream {
 public:
  /// After `coming`, brought in pieces of up to `piece` bytes, the other side closes, or says no more.
  GivenStream(std::string_view coming, std::size_t piece, bool closes)
      : coming_(coming), piece_(std::max<std::size_t>(piece, 1)), closes_(closes) {
    served = this;
  }
  ~GivenStream() { served = nullptr; }
  GivenStream(const GivenStream&) = delete;
  GivenStream& operator=(const GivenStream&) = delete;

  std::string_view left() const { return coming_; }
  const std::string& sent() const { return sent_; }

  static verbs::StreamCalls calls() {
    return {
        .socket = [](int, int, int) { return 3; },
        .connect = [](int, const sockaddr*, unsigned) { return 0; },
        .get_option = [](int, int, int, void*, unsigned*) { return 0; },
        .control = control,
        .send = [](int, const void* bytes, unsigned long length, int) { return served->take(bytes, length); },
        .receive = [](int, void* into, unsigned long room, int) { return served->give(into, room); },
        .poll = [](pollfd*, unsigned long, int) { return served->silent() ? 0 : 1; },
        .close = [](int) { return 0; }};
  }

 private:
  static int control(int, int, ...) { return 0; }
  bool silent() const { return coming_.empty() && !closes_; }
  /// Every second call moves nothing, as if the reader were the faster.
  bool waits() {
    waited_ = !waited_;
    if (waited_) errno = EAGAIN;
    return waited_;
  }
  long take(const void* bytes, std::size_t length) {
    if (waits()) return -1;
    length = std::min(length, piece_);
    sent_.append(static_cast<const char*>(bytes), length);
    return static_cast<long>(length);
  }
  long give(void* into, std::size_t room) {
    if (waits()) return -1;
    if (silent()) return errno = EAGAIN, -1;
    const auto given = coming_.copy(static_cast<char*>(into), std::min(room, piece_));
    coming_.remove_prefix(given);
    return static_cast<long>(given);
  }

  inline static thread_local GivenStream* served = nullptr;
  std::string_view coming_;
  std::size_t piece_;
  bool closes_;
  bool waited_ = false;
  std::string sent_;
};

}  // namespace weft

#include "probes/run/start_window.hpp"

#include <algorithm>

namespace weft::run {

std::size_t StartWindow::room(TimePoint now, const std::function<bool(const std::string&)>& is_awaited) {
  std::erase_if(on_their_way_, [&](const auto& started) {
    return now - started.second > patience_ || !is_awaited(started.first);
  });
  return most_ - std::min(most_, on_their_way_.size());
}

}  // namespace weft::run

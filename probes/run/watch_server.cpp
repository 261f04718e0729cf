#include "probes/run/watch_server.hpp"

#include "probes/session/watch_subjects.hpp"

namespace weft::run {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMaxTries = 5;
constexpr Nanoseconds kTriesCount = std::chrono::minutes(1);
constexpr Nanoseconds kBetweenTries = seconds(1);  // what keeps the port or the disk may go by itself

}  // namespace

Result<NatsServer> start_watch_server(const ListenAddress& listen, const std::string& fabric,
                                      const std::vector<std::string>& hosts,
                                      const JetStreamSpec& jet_stream) {
  WEFT_TRY(auto users, session::watch_users(fabric, {std::string(session::kWatcher)}, hosts));
  users.push_back(session::coordinator_of_all_runs());
  return NatsServer::start(NatsServerSpec{listen, std::move(users), jet_stream});
}

Result<std::optional<std::string>> KeptServer::tend(Nanoseconds now) {
  if (!tries_.empty() && now - tries_.back() < kBetweenTries) return std::optional<std::string>();
  WEFT_TRY(const auto ended, server_.child().wait_for(Nanoseconds(0)));
  if (!ended) return std::optional<std::string>();
  while (!tries_.empty() && now - tries_.front() > kTriesCount) tries_.pop_front();
  const auto how = fmt::format("nats-server, which this watch started, ended ({})", to_string(*ended));
  if (tries_.size() >= kMaxTries)
    return fail(ErrorKind::absent, "{}, {} times within a minute: see the kernel's log and the disk", how,
                kMaxTries);
  tries_.push_back(now);
  const auto again = server_.restart();
  return again ? how + "; it runs again" : fmt::format("{}, and not again: {}", how, again.error().message);
}

}  // namespace weft::run

#include "probes/run/watch_server.hpp"

#include "probes/session/bus.hpp"
#include "probes/session/subject.hpp"
#include "probes/session/watch_subjects.hpp"

namespace weft::run {

Result<NatsServer> start_watch_server(const ListenAddress& listen, const std::string& fabric,
                                      const std::vector<std::string>& hosts,
                                      const JetStreamSpec& jet_stream) {
  WEFT_TRY(auto users, session::watch_users(fabric, {}, hosts));
  const std::string watcher(session::kCoordinator);
  users.push_back({watcher, session::subject_token(watcher), session::watcher_permissions()});
  return NatsServer::start(NatsServerSpec{listen, std::move(users), jet_stream});
}

}  // namespace weft::run

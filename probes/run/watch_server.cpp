#include "probes/run/watch_server.hpp"

#include "probes/session/watch_subjects.hpp"

namespace weft::run {

Result<NatsServer> start_watch_server(const ListenAddress& listen, const std::string& fabric,
                                      const std::vector<std::string>& hosts,
                                      const JetStreamSpec& jet_stream) {
  WEFT_TRY(auto users, session::watch_users(fabric, {std::string(session::kWatcher)}, hosts));
  users.push_back(session::coordinator_of_all_runs());
  return NatsServer::start(NatsServerSpec{listen, std::move(users), jet_stream});
}

}  // namespace weft::run

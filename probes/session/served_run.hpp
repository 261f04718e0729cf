// ServedRun: one run as its agent serves it. A thread of its own opens the engines of the run's NICs, refuses
// what they cannot do and closes all of it again; each NIC has two more, which do its tasks and answer the
// questions of its peers. So who reads the bus waits for no device, and no NIC for another. What the run
// brought (key, NICs, peers, engines) ends with the object.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "probes/session/bus.hpp"
#include "probes/session/peer_line.hpp"
#include "probes/session/work.hpp"

namespace weft::session {

/// What a host gives one run; made anew for each.
struct RunHost {
  OpenEngines open;
  std::optional<HostInventory> inventory = std::nullopt;
};
using PrepareRun = std::function<RunHost()>;

class NicWorker;
class NicAnswerer;

class ServedRun {
 public:
  /// Opens the engines, one NIC after the other, and says Ready then. `bus` and `prepare` outlive it.
  ServedRun(Bus& bus, const PrepareRun& prepare, StartRun start);
  /// Stops, and waits until all is closed: as long as the device takes that is just being opened.
  ~ServedRun();

  RunId id() const { return start_.secrets.run; }
  /// After stop: no engine is left, and the next run may open them.
  bool is_closed() const { return closed_; }

  // None of these waits for a device.
  void take(const Task& task);
  void take(const PeerQuestion& question);
  void take(const PeerReply& reply);
  /// Ends what is being done and drops what waits; nothing is opened or answered any more.
  void stop();

 private:
  void serve(const std::stop_token& stop);
  std::string encoded(const ToCoordinator& message) const;
  void open_nic(const OpenEngines& open, const NicAssignment& nic, Ready& ready);
  /// With the lock.
  void refuse(const Task& task, const Result<TaskAnswer>& why);
  void refuse_what_waits(const std::stop_token& stop);
  void stop_nics();
  void close();

  Bus& bus_;
  const PrepareRun& prepare_;
  const StartRun start_;
  const datapath::SharedNics nics_;
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;  // of all below
  std::condition_variable_any refused_;
  std::set<TaskId> known_tasks_;  // a task may come twice
  std::deque<ToCoordinator> refusals_;
  std::map<PortId, std::unique_ptr<PeerLine>> lines_;
  std::map<PortId, std::unique_ptr<NicWorker>> workers_;
  std::map<PortId, std::unique_ptr<NicAnswerer>> answerers_;  // of NICs whose engines speak to others
  std::jthread thread_;
};

}  // namespace weft::session

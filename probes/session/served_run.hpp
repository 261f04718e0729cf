// ServedRun: one run as its agent serves it. A thread of its own opens the engines of the run's NICs, answers
// the questions of their peers and closes all of it again; each NIC has one more that does its tasks. So who
// reads the bus waits for no device. What the run brought (key, NICs, peers, engines) ends with the object.
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

namespace weft {

/// What a host gives one run; made anew for each.
struct RunHost {
  OpenEngines open;
  std::optional<HostInventory> inventory = std::nullopt;
};
using PrepareRun = std::function<RunHost()>;

class NicWorker;

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
  /// Only what no host is blamed for when it is lost; the rest is delivered.
  void say(const ToCoordinator& message);
  std::string encoded(const ToCoordinator& message) const;
  void open_nic(const OpenEngines& open, const NicAssignment& nic, Ready& ready);
  void answer_peers(const std::stop_token& stop);
  PeerReply answer(const PeerQuestion& question);
  void close();
  void refuse(const Task& task, const Result<TaskAnswer>& why);

  Bus& bus_;
  const PrepareRun& prepare_;
  const StartRun start_;
  const SharedNics nics_;
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;  // of all below
  std::condition_variable_any asked_;
  std::set<TaskId> known_tasks_;                                       // a task may come twice
  std::deque<PeerQuestion> questions_;                                 // one at most from one NIC to another
  std::map<std::pair<PortId, PortId>, std::uint32_t> last_questions_;  // by who asks whom: its id
  std::map<PortId, std::unique_ptr<PeerLine>> lines_;
  std::map<PortId, std::shared_ptr<PeerService>> services_;
  std::map<PortId, std::unique_ptr<NicWorker>> workers_;
  std::jthread thread_;
};

}  // namespace weft

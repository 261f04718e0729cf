// SubnetScan: the dialogue of one scan. Attributes of known nodes are asked first, then what is behind a port
// whose link is up, and ports of switches last: the ends of a cable train together, so that a port whose
// cable was met from its other end by then needs no question of its own. Internal to discover/.
#pragma once

#include <deque>
#include <unordered_map>

#include "probes/discover/subnet_discovery.hpp"
#include "probes/mad/mad_attributes.hpp"

namespace weft::discover {

/// More nodes than a subnet has LIDs for: whoever shows more makes them up.
inline constexpr std::size_t kMaxNodes = 0xC000;

/// The nodes that a scan met, by indices in the order in which it met them, and the cables between them.
class MetNodes {
 public:
  struct Met {
    IbSubnetNode node;
    mad::NodeInfo info;
    mad::DirectedRoute route;
    std::uint16_t table_top = 0;
  };

  std::size_t size() const { return nodes_.size(); }
  Met& operator[](std::uint32_t index) { return nodes_[index]; }
  const Met& operator[](std::uint32_t index) const { return nodes_[index]; }
  std::optional<std::uint32_t> find(Guid guid) const;
  /// "0x2 'leaf1'".
  std::string name_of(std::uint32_t index) const;

  /// Not met before. Returns its index.
  std::uint32_t add(const mad::NodeInfo& info, const mad::DirectedRoute& route);
  /// A cable. False: one of the ports has another one.
  bool join(std::uint32_t near, std::uint8_t near_port, std::uint32_t far, std::uint8_t far_port);
  /// The other end of the port's cable; null: it is not known.
  const IbSubnetPort* peer_of(const IbSubnetNode& node, std::uint8_t number) const;
  /// The ends of a cable train together (IBTA vol. 1, 5.6): what one said holds at the end that was not
  /// asked.
  void complete_from_peers();
  /// The first of them is our own.
  SubnetDiscovery discovery() &&;

 private:
  std::vector<Met> nodes_;
  std::unordered_map<Guid, std::uint32_t> index_;
};

/// What a scan asks of a node, or of what is behind one of its ports.
struct ScanQuestion {
  enum class Kind : std::uint8_t { explore, description, switch_info, port_info, vendor_speed };
  Kind kind = Kind::explore;
  std::uint8_t port = 0;
  std::uint32_t node = 0;  // index; kNobody: our own port's first question
};

class SubnetScan : public mad::MadDialogue {
 public:
  explicit SubnetScan(std::size_t most_nodes = kMaxNodes);
  std::optional<mad::MadQuestion> next() override;
  void answered(const mad::MadQuestion& question, const mad::MadAnswer& answer) override;

  /// Of a finished scan. An Error: our own port does not answer.
  Result<SubnetDiscovery> result() &&;

 private:
  using Kind = ScanQuestion::Kind;
  using Tag = ScanQuestion;

  bool needless(const Tag& tag) const;
  void met(const Tag& from, const mad::NodeInfo& info);
  void ask_about(std::uint32_t node);
  void take_port_info(const Tag& tag, const mad::PortInfo& info);
  void unanswered(const Tag& tag, const mad::MadAnswer& answer);
  void note_unread(const Tag& tag);
  void take(const Tag& tag, ByteSpan data);
  template <class T>
  std::optional<T> sane(const Tag& tag, const Result<T>& decoded);
  template <class... Args>
  void remark(fmt::format_string<Args...> format, Args&&... args) {
    remarks_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::string place(const Tag& tag) const;

  std::size_t most_nodes_;
  bool full_ = false;  // most_nodes_ are known: no port is explored any more
  MetNodes known_;
  std::deque<Tag> attributes_;
  std::deque<Tag> explorations_;
  std::deque<Tag> visits_;  // ports of switches
  std::vector<std::string> remarks_;
  std::optional<Lid> sm_lid_;
  std::set<std::pair<Guid, std::uint8_t>> unread_;
};

}  // namespace weft::discover

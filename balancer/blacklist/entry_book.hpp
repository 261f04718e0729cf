// EntryBook: the entries of a ledger by id, by name and by channel, with what their names mean in a fabric.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "balancer/blacklist/ledger.hpp"

namespace weft::blacklist {

class EntryBook {
 public:
  /// Marks entries whose subject the fabric does not have (Entry::is_known). Both must outlive it, and
  /// entries come by add() alone.
  EntryBook(Ledger& ledger, const Fabric& fabric, NicAction action);

  /// Not released, and of this fabric.
  static bool is_live(const Entry& entry) { return entry.state != EntryState::released && entry.is_known; }
  /// Those that became unknown with this fabric, and why.
  const std::vector<std::pair<EntryId, std::string>>& newly_lost() const { return newly_lost_; }

  /// Null: there is none.
  Entry* entry(EntryId id);
  /// All of that name, released ones too, the oldest first.
  const std::vector<EntryId>& named(const SubjectName& name) { return by_name_[name]; }
  /// A live one that covers the subject: what takes the same out of use; else an active one that takes out
  /// more, and so explains it. Null: there is none. A larger one that is not active says nothing of a part.
  Entry* covering(const Subject& subject);

  // Of a live one.
  std::vector<ChannelId> channels(const Entry& entry) const;
  Effect effect(const Entry& entry) const;

  // As the book was made.
  /// An active entry keeps it out of the routes: no probe crosses it.
  bool is_taken_out(LinkId link) const { return taken_out_[link.value()]; }
  /// A mark stands on it, of an entry that is not active.
  bool is_left_marked(LinkId link) const { return left_marked_[link.value()]; }
  /// When it was last put back; UtcTime::min(): nobody knows that it ever was.
  UtcTime put_back(LinkId link) const { return put_back_[link.value()]; }
  /// No probe crosses it while it is active.
  bool takes_probes_off(const Entry& entry) const {
    return !effect(entry).links.empty() || !marked_links(entry).empty();
  }

  /// Gives it its id, name and time, and counts its offences. Other entries move in memory.
  Entry& add(Entry entry, const Subject& subject);

 private:
  void know(const Entry& entry, const Subject& subject);
  std::vector<LinkId> marked_links(const Entry& entry) const;

  Ledger* ledger_;
  const Fabric* fabric_;
  NicAction action_;
  std::vector<bool> taken_out_, left_marked_;  // by link
  std::vector<UtcTime> put_back_;              // by link
  std::unordered_map<EntryId, Subject> subjects_;
  std::unordered_map<ChannelId, std::vector<EntryId>> by_channel_;
  std::map<SubjectName, std::vector<EntryId>> by_name_;
  std::vector<std::pair<EntryId, std::string>> newly_lost_;
};

}  // namespace weft::blacklist

// EventQueue: which events a receiver is told, in their order, and when to try again. Pure; not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>

#include "collectors/webhook/webhook.hpp"

namespace weft::webhook {

struct Delivery {
  std::string id;  // INCIDENT.NUMBER
  std::string body;
};

/// What a receiver's answer means.
enum class Answer { taken, refused, again };
/// Redirections are refused: the events would go where nobody said.
Answer answer_of(int status);

class EventQueue {
 public:
  explicit EventQueue(const WebhookOptions& options) : options_(&options), pause_(options.first_pause) {}

  /// False: nobody is to be told of it.
  bool push(const files::EventReport& event);
  /// Another one told it, where anybody was to be told of it.
  void note_told(const files::EventReport& event);
  const Delivery* next() const { return waiting_.empty() ? nullptr : &waiting_.front(); }

  /// The first one was tried. Returns how long to wait before the next try.
  Nanoseconds tried(Answer answer, std::string trouble);
  WebhookCounts counts() const;

 private:
  bool is_to_be_told(const files::EventReport& event) const;
  void drop_first();

  const WebhookOptions* options_;
  std::deque<Delivery> waiting_;
  std::set<IncidentId> told_;  // and not told that they are over
  Nanoseconds pause_;
  int tries_ = 0;  // of the first one
  WebhookCounts counts_;
};

}  // namespace weft::webhook

#include "tests/fakes/fake_watch_bus.hpp"

#include <algorithm>
#include <utility>

namespace weft::fakes {
namespace {

tl::unexpected<Error> gone() { return fail(ErrorKind::absent, "the bus is away"); }

}  // namespace

class FakeWatchBus::Agent : public watch::AgentLink {
 public:
  Agent(FakeWatchBus& bus, std::string host) : bus_(bus), host_(std::move(host)) {}

  Result<void> publish(watch::MessageId id, ByteSpan window) override {
    const std::lock_guard lock(bus_.mutex_);
    WEFT_TRY_VOID(bus_.reach(host_));
    Link& link = bus_.links_[host_];
    if (link.under_way.size() >= bus_.most_under_way)
      return fail(ErrorKind::conflict, "{} windows are under way", link.under_way.size());
    const Answer answer = bus_.answers(host_, id);
    if (answer != Answer::refuses) bus_.keep(host_, id, window);
    if (answer == Answer::acknowledges) link.acknowledged.push_back(id);
    if (answer == Answer::refuses || answer == Answer::forgets) link.failed.push_back(id);
    if (answer == Answer::holds) link.under_way.insert(id);
    return {};
  }
  std::vector<watch::MessageId> acknowledged() override {
    const std::lock_guard lock(bus_.mutex_);
    return std::exchange(bus_.links_[host_].acknowledged, {});
  }
  std::vector<watch::MessageId> failed() override {
    const std::lock_guard lock(bus_.mutex_);
    return std::exchange(bus_.links_[host_].failed, {});
  }
  Result<std::optional<std::string>> next_word(Nanoseconds limit) override {
    std::unique_lock lock(bus_.mutex_);
    auto& words = bus_.links_[host_].words;
    bus_.changed_.wait_for(lock, limit, [&] { return !words.empty(); });
    if (words.empty()) return std::optional<std::string>();
    std::optional<std::string> first(std::move(words.front()));
    words.pop_front();
    return first;
  }
  Result<void> send_text(std::string_view text) override {
    const std::lock_guard lock(bus_.mutex_);
    WEFT_TRY_VOID(bus_.reach(host_));
    for (auto& [feed, words] : bus_.words_) words.push_back({host_, std::string(text)});
    bus_.changed_.notify_all();
    return {};
  }
  Result<void> report_counters(std::string_view text) override {
    const std::lock_guard lock(bus_.mutex_);
    WEFT_TRY_VOID(bus_.reach(host_));
    for (auto& [feed, told] : bus_.counters_) told.push_back({host_, std::string(text)});
    bus_.changed_.notify_all();
    return {};
  }
  std::optional<std::string> next_label_request() override {
    const std::lock_guard lock(bus_.mutex_);
    auto& requests = bus_.links_[host_].label_requests;
    if (requests.empty()) return std::nullopt;
    std::optional<std::string> first(std::move(requests.front()));
    requests.pop_front();
    return first;
  }
  Result<void> answer_labels(std::string_view text) override {
    const std::lock_guard lock(bus_.mutex_);
    WEFT_TRY_VOID(bus_.reach(host_));
    bus_.label_answers_.push_back({host_, std::string(text)});
    bus_.changed_.notify_all();
    return {};
  }

 private:
  FakeWatchBus& bus_;
  const std::string host_;
};

class FakeWatchBus::Operator : public watch::OperatorLink {
 public:
  explicit Operator(FakeWatchBus& bus) : bus_(bus) {}
  Result<void> send_to(std::string_view host, ByteSpan request) override {
    const std::lock_guard lock(bus_.mutex_);
    WEFT_TRY_VOID(bus_.reach(std::string(host)));
    const std::string_view text(reinterpret_cast<const char*>(request.data()), request.size());
    bus_.links_[std::string(host)].label_requests.emplace_back(text);
    return {};
  }
  std::vector<watch::AgentWord> answers(Nanoseconds limit) override {
    std::unique_lock lock(bus_.mutex_);
    bus_.changed_.wait_for(lock, limit, [&] { return !bus_.label_answers_.empty(); });
    auto said = std::exchange(bus_.label_answers_, {});
    return {said.begin(), said.end()};
  }

 private:
  FakeWatchBus& bus_;
};

class FakeWatchBus::Feed : public watch::WindowFeed {
 public:
  Feed(FakeWatchBus& bus, std::uint64_t behind) : bus_(bus), position_(behind) {
    const std::lock_guard lock(bus_.mutex_);
    number_ = ++bus_.feeds_;
    bus_.words_[number_], bus_.counters_[number_];
  }
  ~Feed() override {
    const std::lock_guard lock(bus_.mutex_);
    bus_.words_.erase(number_), bus_.counters_.erase(number_);
  }

  Result<std::vector<watch::ReceivedWindow>> fetch(std::size_t most, Nanoseconds limit) override {
    std::unique_lock lock(bus_.mutex_);
    bus_.changed_.wait_for(lock, limit, [this] { return bus_.away_ || bus_.last_window_ > position_; });
    if (bus_.away_) return gone();
    std::vector<watch::ReceivedWindow> read;
    for (const auto& window : bus_.windows_) {
      if (window.sequence <= position_) continue;
      if (read.size() >= most) break;
      for (int i = bus_.shown(window); i > 0; --i) read.push_back(window);
      position_ = window.sequence;
    }
    return read;
  }
  Result<void> skip() override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    position_ = bus_.last_window_;
    return {};
  }
  std::vector<watch::AgentWord> words() override {
    const std::lock_guard lock(bus_.mutex_);
    auto said = std::exchange(bus_.words_[number_], {});
    return {said.begin(), said.end()};
  }
  std::vector<watch::AgentWord> counters() override {
    const std::lock_guard lock(bus_.mutex_);
    auto told = std::exchange(bus_.counters_[number_], {});
    return {told.begin(), told.end()};
  }
  Result<void> send_to(std::string_view host, std::string_view text) override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    Link& link = bus_.links_[std::string(host)];
    if (!link.away) link.words.emplace_back(text);
    bus_.changed_.notify_all();
    return {};
  }

 private:
  FakeWatchBus& bus_;
  std::uint64_t position_;
  std::uint64_t number_ = 0;
};

class FakeWatchBus::Events : public watch::EventLog {
 public:
  explicit Events(FakeWatchBus& bus) : bus_(bus) {}

  Result<std::uint64_t> append(std::uint64_t incident, std::uint64_t last, std::string_view text) override {
    {
      const std::lock_guard lock(bus_.mutex_);
      if (bus_.away_) return gone();
      std::uint64_t known = 0;
      for (const auto& event : bus_.events_)
        if (event.incident == incident) known = event.sequence;
      if (known != last)
        return fail(ErrorKind::conflict, "the last event of incident {} is {}, not {}", incident, known,
                    last);
    }
    const auto sequence = bus_.write_event(incident, std::string(text));
    if (bus_.lost_answers > 0 && bus_.lost_answers-- > 0)
      return fail(ErrorKind::absent, "the connection ended before the answer came");
    return sequence;
  }
  Result<std::vector<watch::StoredEvent>> read_behind(std::uint64_t sequence, std::size_t most) override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    std::vector<watch::StoredEvent> read;
    if (bus_.events_.size() < sequence) sequence = 0;
    for (const auto& event : bus_.events_)
      if (event.sequence > sequence && read.size() < most) read.push_back(event);
    return read;
  }
  Result<std::optional<watch::StoredEvent>> last_of(std::uint64_t incident) override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    std::optional<watch::StoredEvent> last;
    for (const auto& event : bus_.events_)
      if (event.incident == incident) last = event;
    return last;
  }

 private:
  FakeWatchBus& bus_;
};

class FakeWatchBus::TheLease : public watch::Lease {
 public:
  explicit TheLease(FakeWatchBus& bus) : bus_(bus) {}

  Result<bool> hold(std::string_view holder) override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    const auto now = bus_.clock();
    if (bus_.holder_ != holder && !bus_.holder_.empty() && now < bus_.held_until_) return false;
    bus_.holder_ = mine_ = holder;
    bus_.held_until_ = now + bus_.lease_time;
    return true;
  }
  Result<void> release() override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    if (bus_.holder_ == mine_) bus_.holder_.clear();
    return {};
  }

 private:
  FakeWatchBus& bus_;
  std::string mine_;
};

class FakeWatchBus::Values : public watch::SharedValue {
 public:
  explicit Values(FakeWatchBus& bus) : bus_(bus) {}

  Result<Stored> get(std::string_view key) override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    const auto found = bus_.values_.find(key);
    return found == bus_.values_.end() ? Stored() : found->second;
  }
  Result<std::uint64_t> put(std::string_view key, std::uint64_t revision, std::string_view text) override {
    const std::lock_guard lock(bus_.mutex_);
    if (bus_.away_) return gone();
    Stored& stored = bus_.values_[std::string(key)];
    if (stored.revision != revision)
      return fail(ErrorKind::conflict, "the revision of {} is {}, not {}", key, stored.revision, revision);
    stored = {std::string(text), ++bus_.last_revision_};
    return stored.revision;
  }

 private:
  FakeWatchBus& bus_;
};

Result<void> FakeWatchBus::reach(const std::string& host) {
  if (away_ || links_[host].away) return gone();
  return {};
}

void FakeWatchBus::keep(const std::string& host, watch::MessageId id, ByteSpan window) {
  if (!ids_.insert({host, id}).second) return;
  windows_.push_back({host, ++last_window_, {window.begin(), window.end()}});
  while (windows_.size() > most_windows_) windows_.pop_front();
  changed_.notify_all();
}

void FakeWatchBus::set_away(bool away) {
  const std::lock_guard lock(mutex_);
  away_ = away;
  for (auto& [host, link] : links_)
    if (away) {
      link.failed.insert(link.failed.end(), link.under_way.begin(), link.under_way.end());
      link.under_way.clear();
    }
  changed_.notify_all();
}

void FakeWatchBus::set_away(const std::string& host, bool away) {
  const std::lock_guard lock(mutex_);
  Link& link = links_[host];
  link.away = away;
  if (away) {
    link.failed.insert(link.failed.end(), link.under_way.begin(), link.under_way.end());
    link.under_way.clear();
  }
}

void FakeWatchBus::acknowledge_held() {
  const std::lock_guard lock(mutex_);
  for (auto& [host, link] : links_) {
    link.acknowledged.insert(link.acknowledged.end(), link.under_way.begin(), link.under_way.end());
    link.under_way.clear();
  }
}

void FakeWatchBus::keep_windows(std::size_t most) {
  const std::lock_guard lock(mutex_);
  most_windows_ = most;
  while (windows_.size() > most_windows_) windows_.pop_front();
}

std::uint64_t FakeWatchBus::write_event(std::uint64_t incident, std::string text) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t sequence = events_.size() + 1;
  events_.push_back({incident, sequence, std::move(text)});
  return sequence;
}

void FakeWatchBus::make_events_anew() {
  const std::lock_guard lock(mutex_);
  events_.clear();
}

std::vector<watch::ReceivedWindow> FakeWatchBus::windows() const {
  const std::lock_guard lock(mutex_);
  return {windows_.begin(), windows_.end()};
}

std::vector<watch::StoredEvent> FakeWatchBus::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::unique_ptr<watch::AgentLink> FakeWatchBus::agent(std::string host) {
  return std::make_unique<Agent>(*this, std::move(host));
}
std::unique_ptr<watch::WindowFeed> FakeWatchBus::feed(std::uint64_t behind) {
  return std::make_unique<Feed>(*this, behind);
}
std::unique_ptr<watch::EventLog> FakeWatchBus::event_log() { return std::make_unique<Events>(*this); }
std::unique_ptr<watch::Lease> FakeWatchBus::lease() { return std::make_unique<TheLease>(*this); }
std::unique_ptr<watch::OperatorLink> FakeWatchBus::operator_link() {
  return std::make_unique<Operator>(*this);
}
std::unique_ptr<watch::SharedValue> FakeWatchBus::values() { return std::make_unique<Values>(*this); }

}  // namespace weft::fakes

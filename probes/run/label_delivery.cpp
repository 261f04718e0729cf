#include "probes/run/label_delivery.hpp"

#include <algorithm>
#include <random>

#include "probes/watch/label_messages.hpp"
#include "topology/os/clocks.hpp"

namespace weft::run {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);

}  // namespace

LabelDelivery::LabelDelivery(const LabelsOfHosts& labels, std::uint64_t id, const DeliveryTiming& timing,
                             Nanoseconds now)
    : timing_(timing), next_id_(id) {
  for (const auto& [name, list] : labels) {
    Host host{.id = next_id_++, .list = list, .until = now + timing_.asked, .next = now};
    host.bytes = watch::encode_request({host.id, {}}).value();
    hosts_.emplace(name, std::move(host));
  }
}

std::vector<LabelDelivery::Message> LabelDelivery::due(Nanoseconds now) {
  std::vector<Message> messages;
  for (auto& [name, host] : hosts_) {
    if (host.state == State::done) continue;
    if (now >= host.until) {
      host.what = host.state == State::asked ? Delivery::no_agent : Delivery::unanswered;
      host.state = State::done;
    } else if (now >= host.next) {
      host.next = now + timing_.again;
      messages.push_back({name, host.bytes});
    }
  }
  return messages;
}

void LabelDelivery::take(const watch::AgentWord& said, Nanoseconds now) {
  const auto found = hosts_.find(said.host);
  if (found == hosts_.end()) return;
  Host& host = found->second;
  const auto answer = watch::read_answer(said.text);
  if (!answer || host.state == State::done || answer->id != host.id) return;
  if (!answer->refused.empty()) return refuse(host, answer->refused);
  if (host.state == State::asked) return give(host, answer->generation, now);
  host.state = State::done;
  host.what = Delivery::taken;
}

void LabelDelivery::refuse(Host& host, std::string why) {
  host.state = State::done;
  host.what = Delivery::refused;
  host.why = std::move(why);
}

void LabelDelivery::give(Host& host, std::uint64_t newest, Nanoseconds now) {
  if (newest >= steer::kMaxGeneration)
    return refuse(
        host,
        fmt::format("its newest list has number {}, and none can be above it: remove that list", newest));
  host.list.generation = newest + 1;
  auto list = steer::encode_labels(host.list);
  if (!list) return refuse(host, list.error().message);
  host.id = next_id_++;
  auto bytes = watch::encode_request({host.id, std::move(*list)});
  if (!bytes) return refuse(host, bytes.error().message);
  host.bytes = std::move(*bytes);
  host.state = State::given;
  host.until = now + timing_.given;
  host.next = now;
}

bool LabelDelivery::is_over() const {
  return std::ranges::all_of(hosts_, [](const auto& each) { return each.second.state == State::done; });
}

std::vector<HostDelivery> LabelDelivery::outcomes() const {
  std::vector<HostDelivery> all;
  for (const auto& [name, host] : hosts_) all.push_back({name, host.what, host.list.generation, host.why});
  return all;
}

std::vector<HostDelivery> deliver_labels(watch::OperatorLink& link, const LabelsOfHosts& labels,
                                         const DeliveryTiming& timing) {
  std::random_device draw;
  const auto id = std::uint64_t{draw()} << 32U | draw();
  LabelDelivery delivery(labels, id, timing, os::steady_now());
  while (!delivery.is_over()) {
    // Where the bus is away it is sent again, like all that nobody answers.
    for (const auto& message : delivery.due(os::steady_now()))
      static_cast<void>(link.send_to(message.host, message.bytes));
    for (const auto& said : link.answers(kLook)) delivery.take(said, os::steady_now());
  }
  return delivery.outcomes();
}

}  // namespace weft::run

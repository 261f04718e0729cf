#include "collectors/report/remedy.hpp"

#include <fmt/format.h>

#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

/// What sends is looked at before what receives.
std::string ends(const Trouble& trouble) {
  return trouble.one_way && !trouble.a.empty() ? fmt::format("both ports, {} first (it sends)", trouble.a)
                                               : "both ports";
}

std::string sender(const Trouble& trouble) {
  return trouble.one_way && !trouble.a.empty() ? trouble.a : "both ports";
}

/// How traffic leaves a cable: a subnet manager routes round a port that is disabled; a host's only one takes
/// the host's traffic with it.
std::string avoid(const Trouble& trouble) {
  if (trouble.place == Place::host_cable) return "keep jobs off the host";
  const std::string port = trouble.a.empty() ? "one of its ports" : trouble.a;
  return trouble.kind == FabricKind::infiniband
             ? fmt::format("disable {} (ibportstate) so that routes leave it", port)
             : fmt::format("shut {} so that routes leave it", port);
}

std::string reseat_and_replace(const Trouble& trouble) {
  const std::string work =
      trouble.repair.empty()
          ? fmt::format("clean and reseat {}, then replace {}", ends(trouble),
                        trouble.place == Place::host_cable ? "the cable, then the NIC" : "the cable")
          : trouble.repair;
  return trouble.shuts ? fmt::format("{}; {}", avoid(trouble), work)
                       : fmt::format("{}; until then {}", work, avoid(trouble));
}

std::string of_loss(const Trouble& trouble) {
  if (trouble.may_be_traffic)
    return fmt::format(
        "look for other traffic through {}: what overflows its queue is lost, too; without any, {}",
        sender(trouble), reseat_and_replace(trouble));
  if (trouble.comes_and_goes) return "read the logs of both ports for flaps; " + reseat_and_replace(trouble);
  return reseat_and_replace(trouble);
}

std::string of_cable(const Trouble& trouble, Cause cause) {
  switch (cause) {
    case Cause::loss:
      return of_loss(trouble);
    case Cause::down:
      return reseat_and_replace(trouble) + "; a port that was shut on purpose is no fault";
    case Cause::corruption:
      return fmt::format(
          "read the CRC and symbol errors of {}: where they grow, {}; where none do, the memory of the "
          "sender "
          "changes packets: take it out of service",
          ends(trouble), trouble.repair.empty() ? "replace transceiver and cable" : trouble.repair);
    case Cause::rate:
      return fmt::format(
          "compare speed, lanes and FEC of {} with the design; reseat a port that came up slower, "
          "then replace the cable; where all are right, look for a rate limit at {}",
          ends(trouble), sender(trouble));
    case Cause::congestion:
      return fmt::format(
          "look for other traffic through {} (jobs, storage, an incast); without any, its rate comes "
          "and goes: treat it as faulty",
          sender(trouble));
    case Cause::delay:
      return fmt::format(
          "look for full queues at {}: other traffic, pause frames; where there are none, "
          "compare FEC and cable length with the design",
          sender(trouble));
    case Cause::mtu:
      return "set the same MTU on both ports";
    case Cause::counter:
      return fmt::format("read the counter again: while it grows, {}", reseat_and_replace(trouble));
  }
  return "";
}

std::string of_node(std::optional<Cause> cause) {
  if (cause == Cause::congestion) return "look for other traffic through it: several links of it are busy";
  if (cause == Cause::mtu) return "set the MTU of all its ports alike";
  return "its links share a cause: look at the switch before the cables (log, line card, buffers, settings) "
         "and take traffic off it before a restart";
}

std::string for_what_is_bad(const Trouble& trouble) {
  switch (trouble.place) {
    case Place::link:
      return trouble.cause ? of_cable(trouble, *trouble.cause) : "";
    case Place::host_cable:
      return trouble.cause == Cause::congestion
                 ? "look for other traffic to and from this host: jobs, storage, an incast"
             : trouble.cause ? of_cable(trouble, *trouble.cause)
                             : for_what_is_bad({.place = Place::host, .kind = trouble.kind});
    case Place::host:
      return "keep jobs off the host; mend on it what is said above, then sweep again";
    case Place::node:
      return of_node(trouble.cause);
    case Place::set:
      return (trouble.cause == Cause::congestion ? std::string("look for other traffic through each of them")
                                                 : "read the error counters of all of them, in this order") +
             "; a sweep with a longer --budget may tell them apart";
    case Place::fabric:
      return "look for what all paths share: settings of all switches or hosts, load; what is usual here is "
             "said by --tolerate";
    case Place::not_tested:
      return "mend what kept it away, then sweep again: nothing is known of it";
  }
  return "";
}

/// What stands because it is told to wait looks like a slow cable: who tells it is asked before anybody
/// touches that.
std::string by_pauses(const Trouble& trouble) {
  const std::string usual = for_what_is_bad(trouble);
  return trouble.paused_by.empty()
             ? usual
             : fmt::format("look first at what pauses its sender: {}; where it is as bad without pauses: {}",
                           trouble.paused_by, usual);
}

}  // namespace

std::string what_to_do(const Trouble& trouble) {
  constexpr std::string_view kMove =
      "move the cable, or correct the fabric file: `weft topology discover --against FILE` names each cable "
      "that is elsewhere than the file has it";
  switch (trouble.miswired) {
    case Miswired::no:
      return by_pauses(trouble);
    case Miswired::beside_a_fault:
      return fmt::format("{}; what is bad besides: {}", kMove, by_pauses(trouble));
    case Miswired::alone:
      return std::string(kMove);
  }
  return "";
}

}  // namespace weft::report

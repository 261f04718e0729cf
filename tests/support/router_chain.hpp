// RouterChain: two hosts and two routers in network namespaces of their own, h1 -- r1 -- r2 -- h2, with IPv4
// and IPv6; gone when it is destroyed. Needs root. Names carry the process id, so chains of several programs
// live side by side. Header only: tests and benchmarks share it.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>

#include "topology/base/check.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"

namespace weft::fakes {

/// Runs `lines` as one `ip -batch`; an error with what ip said.
inline Result<void> run_ip(const std::string& lines) {
  const auto command = fmt::format("ip -batch - 2>&1 <<'LINES'\n{}\nLINES", lines);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return fail(ErrorKind::absent, "cannot run ip");
  std::string said;
  char buffer[512];
  while (::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  if (::pclose(pipe) == 0) return {};
  return fail(ErrorKind::internal, "ip: {}", said);
}

/// While it lives, what this thread opens belongs to the namespace.
class InNamespace {
 public:
  explicit InNamespace(const std::string& name)
      : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    const int there = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    WEFT_CHECK(home_ >= 0 && there >= 0 && ::setns(there, CLONE_NEWNET) == 0);
    ::close(there);
  }
  InNamespace(const InNamespace&) = delete;
  InNamespace& operator=(const InNamespace&) = delete;
  ~InNamespace() {
    WEFT_CHECK(::setns(home_, CLONE_NEWNET) == 0);
    ::close(home_);
  }

 private:
  int home_;
};

class RouterChain {
 public:
  static Result<std::unique_ptr<RouterChain>> make() {
    std::unique_ptr<RouterChain> chain(new RouterChain);
    if (auto made = chain->build(); !made) return pass_on(made);
    return chain;
  }
  ~RouterChain() {
    for (const auto* node : {"h1", "r1", "r2", "h2"}) (void)run_ip("netns del " + name(node));
  }
  RouterChain(const RouterChain&) = delete;
  RouterChain& operator=(const RouterChain&) = delete;

  /// The namespace of a node; its interfaces are named by where they lead: h1 has r1; r1 has h1 and r2.
  std::string name(const std::string& node) const { return prefix_ + node; }
  Result<void> ip(const std::string& node, const std::string& line) const {
    return run_ip_in(name(node), line);
  }
  static IpAddress address(int host, bool v6) {
    return *IpAddress::parse(v6 ? fmt::format("fd77:{}::2", host) : fmt::format("10.77.{}.2", host));
  }
  /// Runs a shell command in a node's namespace; an error with what it said.
  Result<void> shell(const std::string& node, const std::string& command) const {
    const InNamespace here(name(node));
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return fail(ErrorKind::absent, "cannot run a shell");
    std::string said;
    char buffer[512];
    while (::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
    if (::pclose(pipe) == 0) return {};
    return fail(ErrorKind::internal, "{}: {}", command, said);
  }

 private:
  RouterChain() : prefix_(fmt::format("weft-chain-{}-{}-", ::getpid(), counter_++)) {}

  static Result<void> run_ip_in(const std::string& ns, const std::string& lines) {
    const InNamespace here(ns);
    return run_ip(lines);
  }

  static void set(const std::string& key, const std::string& value) {
    std::ofstream("/proc/sys/net/" + key) << value;
  }

  Result<void> build() {
    std::string lines;
    for (const auto* node : {"h1", "r1", "r2", "h2"}) lines += "netns add " + name(node) + "\n";
    const auto cable = [&](const std::string& a, const std::string& b) {
      lines += fmt::format("link add {1} netns {0} mtu 9000 type veth peer {3} netns {2} mtu 9000\n", name(a),
                           b, name(b), a);
    };
    if (auto made = run_ip(lines); !made) return made;
    lines.clear();
    for (const auto* node : {"h1", "r1", "r2", "h2"}) skip_address_checks(node);
    cable("h1", "r1");
    cable("r1", "r2");
    cable("r2", "h2");
    if (auto made = run_ip(lines); !made) return made;
    for (const auto* router : {"r1", "r2"}) set_router(router);
    if (auto done = host("h1", "r1", 1); !done) return done;
    if (auto done = host("h2", "r2", 2); !done) return done;
    if (auto done = router("r1", "h1", "r2", 1, 2); !done) return done;
    return router("r2", "h2", "r1", 2, 1);
  }

  /// IPv6 would wait a second for duplicates of each link-local address before it looks for a neighbour.
  void skip_address_checks(const std::string& node) const {
    const InNamespace here(name(node));
    for (const auto* scope : {"all", "default"}) set(fmt::format("ipv6/conf/{}/accept_dad", scope), "0");
  }

  void set_router(const std::string& node) const {
    const InNamespace here(name(node));
    set("ipv4/ip_forward", "1");
    set("ipv4/icmp_ratemask", "0");  // else no more than icmp_msgs_burst (50) go at once
    set("ipv4/icmp_errors_use_inbound_ifaddr", "1");
    set("ipv6/conf/all/forwarding", "1");
    set("ipv6/icmp/ratelimit", "0");
  }

  Result<void> host(const std::string& node, const std::string& leads_to, int number) const {
    return ip(node, fmt::format("link set lo up\nlink set {0} up\naddr add 10.77.{1}.2/24 dev {0}\n"
                                "addr add fd77:{1}::2/64 dev {0} nodad\nroute add default via 10.77.{1}.1\n"
                                "route add default via fd77:{1}::1",
                                leads_to, number));
  }

  Result<void> router(const std::string& node, const std::string& to_host, const std::string& to_router,
                      int number, int other) const {
    return ip(node, fmt::format(
                        "link set lo up\nlink set {0} up\nlink set {1} up\naddr add 10.77.{2}.1/24 dev {0}\n"
                        "addr add fd77:{2}::1/64 dev {0} nodad\naddr add 10.77.12.{2}/24 dev {1}\n"
                        "addr add fd77:12::{2}/64 dev {1} nodad\nroute add 10.77.{3}.0/24 via 10.77.12.{3}\n"
                        "route add fd77:{3}::/64 via fd77:12::{3}",
                        to_host, to_router, number, other));
  }

  static inline std::atomic<int> counter_ = 0;
  std::string prefix_;
};

}  // namespace weft::fakes

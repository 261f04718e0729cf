#include "cli/balance_lab.hpp"

#include <algorithm>

#include "balancer/trial/balance_trial.hpp"
#include "balancer/trial/trial_sending.hpp"
#include "cli/agent_arguments.hpp"
#include "cli/balance_answer.hpp"
#include "cli/balance_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/progress.hpp"
#include "cli/time_limit.hpp"
#include "probes/packet/probe_frame.hpp"
#include "probes/packet/roce.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "topology/lab/netns/lab.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/lab/netns/scripts.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t kMaxLabels = 16384;  // the dynamic ports that RoCE uses
constexpr std::uint32_t kMaxRepeats = 100;
/// A flow of --run unless --bytes says otherwise: a second at a lab's 50 Mbit/s.
constexpr Bytes kRunBytes(6'000'000);
/// A sending that the fluid model takes to be longer than this is refused: it was meant for a real fabric.
constexpr double kMaxSending = 120;
/// Packets of 4 KB are what a lab on two cores carries at 50 Mbit/s a link. On slower links they are smaller,
/// so that each takes the same time, on faster ones more of them are on their way.
constexpr Bytes kMaxPacketBytes(4096);
constexpr Bytes kMinPacket(512);
constexpr double kPacketSeconds = 0.00066;
/// Of one NIC, on their way: 5 ms. Four hops of such packets take 2.7 ms, so one QP alone fills its path, and
/// four of them on one link still fit the lab's queue of 20 ms.
constexpr double kWindowSeconds = 0.0053;
/// Four guests on two cores carry about 2,200 packets a second together, of any size. Eight of them are on
/// their way from a NIC: at 10 Mbit/s 33 KB, and the queue of a link holds 60 (LabScripts::queue).
constexpr double kGuestPacketSeconds = 0.0033;
constexpr double kProbesPerSecond = 1500;
constexpr auto kSweepBudget = std::chrono::seconds(2);

struct RunWords {
  run::EngineKind engine = run::EngineKind::raw;
  std::uint32_t labels = 64;
  std::uint32_t repeats = 0;  // 0: nothing is sent
  std::optional<LinkId> fail;
};

Result<RunWords> read_run_words(const lab::Lab& lab, const Fabric& fabric, const po::variables_map& values) {
  RunWords words;
  WEFT_TRY(const auto asked, read_engine(values));
  WEFT_TRY(words.engine, choose_lab_engine(asked, lab));
  words.labels = values["labels"].as<std::uint32_t>();
  if (words.labels < 1 || words.labels > kMaxLabels)
    return fail(ErrorKind::usage, "--labels {}: expected 1 to {}", words.labels, kMaxLabels);
  for (const char* name : {"paths", "previous", "weighted", "predict", "place"})
    if (values.count(name)) return fail(ErrorKind::usage, "--{} goes with --fabric, not with --lab", name);
  if (!values.count("run")) {
    if (values.count("fail")) return fail(ErrorKind::usage, "--fail needs --run");
    return words;
  }
  words.repeats = values["repeat"].as<std::uint32_t>();
  if (words.repeats < 1 || words.repeats > kMaxRepeats)
    return fail(ErrorKind::usage, "--repeat {}: expected 1 to {}", words.repeats, kMaxRepeats);
  if (const auto name = text_option(values, "fail")) {
    const auto link = fabric.find_link(*name);
    if (!link) return fail(ErrorKind::usage, "--fail: {}", link.error().message);
    if (!fabric.between_switches(*link))
      return fail(ErrorKind::usage, "--fail {}: a host's only cable cannot be steered around", *name);
    words.fail = *link;
  }
  return words;
}

/// Of queue pairs a packet of this size at most: a whole message.
Bytes packet_of_queue_pairs(const lab::Lab& lab, Bytes most) {
  const bool v6 = lab.settings().family == IpFamily::v6;
  const Bytes mtu = packet::roce_mtu(lab.settings().mtu);
  const Bytes message = packet::one_packet_message(FlowOperation::write, most, mtu, v6);
  return Bytes(
      static_cast<std::int64_t>(packet::message_on_wire(FlowOperation::write, message, mtu, v6).bytes));
}

Bandwidth slowest_link(const Fabric& fabric) {
  Bandwidth slowest = Bandwidth::gbit(400);
  for (const Link& link : fabric.links()) slowest = std::min(slowest, link.rate);
  return slowest;
}

session::TransferSettings transfer_settings(const lab::Lab& lab, Bandwidth slowest, run::EngineKind engine,
                                            double least_seconds) {
  const auto bytes_in = [&](double seconds) {
    return static_cast<std::int64_t>(slowest.bits_per_second() / 8 * seconds);
  };
  const Bytes largest = std::min(kMaxPacketBytes, lab.settings().mtu);
  session::TransferSettings settings;
  const double packet = engine == run::EngineKind::verbs ? kGuestPacketSeconds : kPacketSeconds;
  settings.size = Bytes(std::clamp(bytes_in(packet), kMinPacket.count(), largest.count()) / 4 * 4);
  if (engine == run::EngineKind::verbs) settings.size = packet_of_queue_pairs(lab, settings.size);
  settings.window = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(bytes_in(kWindowSeconds) / settings.size.count(), 8, 1024));
  // Random labels may put everything on one link.
  settings.limit = std::chrono::seconds(10) + std::chrono::seconds(static_cast<int>(16 * least_seconds));
  return settings;
}

flowsim::FrameSizes frames_of(const lab::Lab& lab, run::EngineKind engine, Bytes packet) {
  const bool v6 = lab.settings().family == IpFamily::v6;
  const auto frame = [](auto ip) { return Bytes(static_cast<std::int64_t>(packet::kEthernetSize + ip)); };
  if (engine == run::EngineKind::verbs)
    return {frame(packet.count()), frame(packet::roce_headers(v6) + packet::kAcknowledgementHeader)};
  return {frame(packet::probe_size(static_cast<std::size_t>(packet.count()), v6)),
          frame(packet::min_probe_size(v6))};
}

/// The lab as a trial sees it. Mends what the trial broke.
class LabWorld final : public trial::TrialWorld {
 public:
  explicit LabWorld(const lab::Lab& lab) : lab_(lab) {}
  LabWorld(const LabWorld&) = delete;
  LabWorld& operator=(const LabWorld&) = delete;
  ~LabWorld() override {
    if (broken_) (void)lab_heal(lab_, broken_, lab_state_root());
  }

  Result<std::vector<std::uint64_t>> carried() override { return carried_bytes(lab_); }
  Nanoseconds now() override { return os::steady_now(); }
  Result<void> take_down(LinkId link) override {
    broken_ = link;
    return lab_fault(lab_, {.link = link, .down = true}, lab_state_root());
  }

 private:
  const lab::Lab& lab_;
  std::optional<LinkId> broken_;
};

/// Seconds the demand takes at the least: by the NIC that has the most to send or receive.
double least_seconds(const Fabric& fabric, const demand::Demand& demand) {
  double sum = 0;
  for (const demand::Phase& phase : demand.phases) {
    std::vector<double> load(fabric.channel_count());
    for (const demand::Flow& flow : phase.flows)
      for (const auto channel : {fabric.channel_from(flow.src), fabric.channel_into(flow.dst)})
        if (channel)
          load[channel->value()] +=
              static_cast<double>(flow.bytes.count()) * 8 / fabric.rate(*channel).bits_per_second();
    sum += load.empty() ? 0 : *std::ranges::max_element(load);
  }
  return sum;
}

Result<trial::TrialOptions> trial_options(const lab::Lab& lab, const Fabric& fabric,
                                          const BalanceOptions& options, const RunWords& words) {
  const double least = least_seconds(fabric, options.asked.demand);
  if (words.repeats > 0 && least > kMaxSending)
    return fail(ErrorKind::usage, "sending this once takes {:.0f} s at the lab's rates: give fewer --bytes",
                least);
  const Bandwidth slowest = slowest_link(fabric);
  const session::TransferSettings transfer = transfer_settings(lab, slowest, words.engine, least);
  const bool guests = words.engine == run::EngineKind::verbs;
  trial::TrialOptions trial{.assign = options.assign,
                            .labels = words.labels,
                            .repeats = words.repeats,
                            .transfer = transfer,
                            .frames = frames_of(lab, words.engine, transfer.size),
                            .queue = slowest.time_for(lab::LabScripts::queue(slowest)),
                            .fail = words.fail,
                            .sweep = {.load = session::LoadLevel::none,
                                      .budget = kSweepBudget,
                                      .seed = options.assign.seed,
                                      .answers_per_second = kLabAnswersPerSecond,
                                      .probes_per_second = guests ? kGuestProbesPerSecond : kProbesPerSecond,
                                      .tolerate = guests ? Tolerance{.delay = kGuestDelay} : Tolerance()}};
  return trial;
}

/// Queue pairs have both ends in guests.
Result<void> check_hosts(const lab::Lab& lab, run::EngineKind engine, const demand::Demand& demand) {
  if (engine != run::EngineKind::verbs) return {};
  for (const demand::Phase& phase : demand.phases)
    for (const demand::Flow& flow : phase.flows)
      for (const PortId nic : {flow.src, flow.dst})
        if (const NodeId host = lab.fabric().port(nic).node; !lab.is_guest(host))
          return fail(ErrorKind::absent,
                      "{} is no guest and has no RDMA device, as other hosts of lab '{}' have: say `lab: "
                      "{{guests: all}}` in its fabric file",
                      lab.fabric().name_of(host), lab.name());
  return {};
}

int run_trial(const lab::Lab& lab, const Fabric& fabric, const BalanceOptions& options,
              run::EngineKind engine, const trial::TrialOptions& trial_options,
              const std::optional<session::TimeLimit>& limit) {
  auto site = run::lab_site(lab, engine == run::EngineKind::verbs ? guests_of(lab) : std::vector<NodeId>());
  if (!site) return report(site.error());
  site->agent_options.engine = engine;
  const Interrupt interrupt;
  LabWorld world(lab);
  const auto secrets = run::new_run_secrets();
  trial::BalanceTrial trial(fabric, lab.addresses().book, options.asked.demand, secrets.run, trial_options,
                            world);
  if (engine == run::EngineKind::verbs)
    for (const NodeId host : fabric.hosts())
      if (!lab.is_guest(host))
        for (const lab::LabNic& nic : lab.nics_of(host)) trial.exclude(nic.port);
  Result<void> done;
  {
    ProgressLine progress(usual_progress_style());
    done = run_with_agents(*site, run::ListenAddress{lab.coordinator_address()}, fabric, trial, secrets,
                           [&](const session::Progress& p) { progress.show(p); }, interrupt.token(),
                           {.limit = limit});
  }
  if (interrupt.happened()) return kExitInterrupted;
  if (!done) return report(done.error());
  if (!trial.outcome()) return report(trial.outcome().error());
  return trial_options.repeats == 0 ? answer_balance(fabric, options, trial.assignment())
                                    : answer_trial(fabric, options, trial_options, trial);
}

}  // namespace

void add_balance_lab_options(po::options_description& options) {
  add_timeout_option(options);
  options.add_options()("lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
                        "a lab instead of a fabric file: its paths are mapped first")(
      "engine", po::value<std::string>()->value_name("auto|raw|dpdk|verbs")->default_value("auto"),
      "in a lab: how packets are sent: auto, raw or verbs (RDMA queue pairs, between guests)")(
      "labels", po::value<std::uint32_t>()->value_name("N")->default_value(64),
      "in a lab: labels to try for each pair, each way")(
      "run",
      "in a lab: send the flows, by the labels assigned and by random ones, and compare counters and "
      "times with plan and fluid model (6 MB a flow unless --bytes is given)")(
      "repeat", po::value<std::uint32_t>()->value_name("N")->default_value(3),
      "with --run: how often both are sent; the medians count")(
      "fail", po::value<std::string>()->value_name("LINK"),
      "with --run: then take this link down, diagnose, and steer around it; it is healed at the end");
}

int balance_lab(const po::variables_map& given) {
  po::variables_map values = given;
  if (values.count("run") && values["bytes"].defaulted())
    values.at("bytes").value() = std::string(to_string(kRunBytes));
  const auto limit = read_time_limit(values);
  if (!limit) return report(limit.error());
  const auto claim = lab::claim_lab(values["lab"].as<std::string>(), lab_state_root());
  if (!claim) return report(claim.error());
  const auto lab = run::open_lab_for_run(values["lab"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const Fabric fabric = lab->fabric_as_built();
  const auto words = read_run_words(*lab, fabric, values);
  if (!words) return report(words.error());
  const auto options = read_balance_options(fabric, values);
  if (!options) return report(options.error());
  if (const auto can = check_hosts(*lab, words->engine, options->asked.demand); !can)
    return report(can.error());
  const auto trial = trial_options(*lab, fabric, *options, *words);
  if (!trial) return report(trial.error());
  return run_trial(*lab, fabric, *options, words->engine, *trial, *limit);
}

}  // namespace weft::cli

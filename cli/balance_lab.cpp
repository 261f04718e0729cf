#include "cli/balance_lab.hpp"

#include <algorithm>

#include "cli/balance_answer.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/sweep_answer.hpp"
#include "cli/trial_answer.hpp"
#include "probes/packet/probe_frame.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/lab/netns/lab_counters.hpp"

namespace weft {
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
constexpr double kAnswersPerSecond = 100'000;  // labs answer as fast as they are asked
constexpr auto kSweepBudget = std::chrono::seconds(2);

struct RunWords {
  std::uint32_t labels = 64;
  std::uint32_t repeats = 0;  // 0: nothing is sent
  std::optional<LinkId> fail;
};

Result<RunWords> read_run_words(const Fabric& fabric, const po::variables_map& values) {
  RunWords words;
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

TransferSettings transfer_settings(const Lab& lab, const Fabric& fabric, double least_seconds) {
  double slowest = 400e9;
  for (const Link& link : fabric.links()) slowest = std::min(slowest, link.rate.bits_per_second());
  const auto bytes_in = [&](double seconds) { return static_cast<std::int64_t>(slowest / 8 * seconds); };
  const Bytes largest = std::min(kMaxPacketBytes, lab.settings().mtu);
  TransferSettings settings;
  settings.size = Bytes(std::clamp(bytes_in(kPacketSeconds), kMinPacket.count(), largest.count()) / 4 * 4);
  settings.window = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(bytes_in(kWindowSeconds) / settings.size.count(), 8, 1024));
  // Random labels may put everything on one link.
  settings.limit = std::chrono::seconds(10) + std::chrono::seconds(static_cast<int>(16 * least_seconds));
  return settings;
}

FrameSizes frames_of(const Lab& lab, Bytes packet) {
  const bool v6 = lab.settings().family == IpFamily::v6;
  const auto frame = [](std::size_t ip) { return Bytes(static_cast<std::int64_t>(kEthernetSize + ip)); };
  return {frame(probe_size(static_cast<std::size_t>(packet.count()), v6)), frame(min_probe_size(v6))};
}

/// The lab as a trial sees it. Mends what the trial broke.
class LabWorld final : public TrialWorld {
 public:
  explicit LabWorld(const Lab& lab) : lab_(lab) {}
  LabWorld(const LabWorld&) = delete;
  LabWorld& operator=(const LabWorld&) = delete;
  ~LabWorld() override {
    if (broken_) (void)lab_heal(lab_, broken_, lab_state_root());
  }

  Result<std::vector<std::uint64_t>> carried() override { return carried_bytes(lab_); }
  Nanoseconds now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  Result<void> take_down(LinkId link) override {
    broken_ = link;
    return lab_fault(lab_, {.link = link, .down = true}, lab_state_root());
  }

 private:
  const Lab& lab_;
  std::optional<LinkId> broken_;
};

/// Seconds the demand takes at the least: by the NIC that has the most to send or receive.
double least_seconds(const Fabric& fabric, const Demand& demand) {
  double sum = 0;
  for (const Phase& phase : demand.phases) {
    std::vector<double> load(fabric.channel_count());
    for (const Flow& flow : phase.flows)
      for (const auto channel : {fabric.channel_from(flow.src), fabric.channel_into(flow.dst)})
        if (channel)
          load[channel->value()] +=
              static_cast<double>(flow.bytes.count()) * 8 / fabric.rate(*channel).bits_per_second();
    sum += load.empty() ? 0 : *std::ranges::max_element(load);
  }
  return sum;
}

Result<TrialOptions> trial_options(const Lab& lab, const Fabric& fabric, const BalanceOptions& options,
                                   const RunWords& words) {
  const double least = least_seconds(fabric, options.asked.demand);
  if (words.repeats > 0 && least > kMaxSending)
    return fail(ErrorKind::usage, "sending this once takes {:.0f} s at the lab's rates: give fewer --bytes",
                least);
  const TransferSettings transfer = transfer_settings(lab, fabric, least);
  TrialOptions trial{.assign = options.assign,
                     .labels = words.labels,
                     .repeats = words.repeats,
                     .transfer = transfer,
                     .frames = frames_of(lab, transfer.size),
                     .fail = words.fail,
                     .sweep = {.load = LoadLevel::none,
                               .budget = kSweepBudget,
                               .seed = options.assign.seed,
                               .answers_per_second = kAnswersPerSecond,
                               .probes_per_second = 1500}};
  return trial;
}

int run_trial(const Lab& lab, const Fabric& fabric, const BalanceOptions& options,
              const TrialOptions& trial_options) {
  const auto site = lab_site(lab, {});
  if (!site) return report(site.error());
  const Interrupt interrupt;
  LabWorld world(lab);
  const auto secrets = new_run_secrets();
  BalanceTrial trial(fabric, lab.addresses().book, options.asked.demand, secrets.run, trial_options, world);
  Result<void> done;
  {
    ProgressLine progress;
    done = run_with_agents(
        *site, ListenAddress{lab.coordinator_address()}, fabric, trial, secrets,
        [&](const Progress& p) { progress.show(p); }, interrupt.token());
  }
  if (interrupt.happened()) return kExitInterrupted;
  if (!done) return report(done.error());
  if (!trial.outcome()) return report(trial.outcome().error());
  return trial_options.repeats == 0 ? answer_balance(fabric, options, trial.assignment())
                                    : answer_trial(fabric, options, trial_options, trial);
}

}  // namespace

void add_balance_lab_options(po::options_description& options) {
  options.add_options()("lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
                        "a lab instead of a fabric file: its paths are mapped first")(
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
  const auto claim = claim_lab(values["lab"].as<std::string>(), lab_state_root());
  if (!claim) return report(claim.error());
  const auto lab = open_lab_for_run(values["lab"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const Fabric fabric = lab->fabric_as_built();
  const auto words = read_run_words(fabric, values);
  if (!words) return report(words.error());
  const auto options = read_balance_options(fabric, values);
  if (!options) return report(options.error());
  const auto trial = trial_options(*lab, fabric, *options, *words);
  if (!trial) return report(trial.error());
  return run_trial(*lab, fabric, *options, *trial);
}

}  // namespace weft

#include "cli/balance_lab.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "balancer/trial/balance_trial.hpp"
#include "balancer/trial/trial_summary.hpp"
#include "cli/balance_answer.hpp"
#include "cli/balance_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/stamp.hpp"
#include "cli/sweep_answer.hpp"
#include "probes/packet/probe_frame.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "topology/files/document.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/lab/netns/lab_counters.hpp"

namespace weft {
namespace {

// A trial as JSON, `weft.trial/1` (docs/schema/trial.schema.json).

using Json = nlohmann::ordered_json;

Json links_json(const Fabric& fabric, const TrialSending& sending) {
  Json links = Json::array();
  for (std::uint32_t c = 0; c < sending.counted.size(); ++c)
    if (sending.planned[c] > 0 || sending.counted[c] > 0)
      links.push_back({{"channel", fabric.name_of(ChannelId(c))},
                       {"planned", static_cast<std::uint64_t>(sending.planned[c])},
                       {"counted", static_cast<std::uint64_t>(sending.counted[c])}});
  return links;
}

Json sending_json(const Fabric& fabric, const TrialSending& sending) {
  return {{"labels", sending.steered ? "assigned" : "random"},
          {"seconds", sending.measured},
          {"predicted_seconds", sending.predicted},
          {"packet_mode_seconds", sending.by_packets},
          {"qps", sending.qps},
          {"unfinished", sending.unfinished},
          {"packets", sending.wanted},
          {"sent", sending.sent},
          {"received", sending.received},
          {"links", links_json(fabric, sending)}};
}

Json after_json(const Fabric& fabric, LinkId link, const TrialAfterFailure& after) {
  Json blamed = Json::array();
  for (const LinkId one : after.blamed) blamed.push_back(fabric.name_of(one));
  return {{"link", fabric.name_of(link)},
          {"stuck", after.stuck.unfinished},
          {"verdict", std::string(to_string(after.verdict))},
          {"blamed", blamed},
          {"mapping_seconds", after.mapping},
          {"diagnosing_seconds", after.diagnosing},
          {"assigning_seconds", after.assigning},
          {"first_byte_seconds", after.first_byte},
          {"in_force_seconds", after.in_force},
          {"moved", after.moved},
          {"bytes_over_link", static_cast<std::uint64_t>(bytes_over(after.again, link))},
          {"sending", sending_json(fabric, after.again)}};
}

Json times_json(const TrialTimes& times) {
  return {{"seconds", times.measured},
          {"predicted_seconds", times.predicted},
          {"packet_mode_seconds", times.by_packets},
          {"sent_again", times.sent_again},
          {"unfinished", times.unfinished}};
}

std::string trial_json(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                       const BalanceTrial& trial, const TrialSummary& summary, const DocumentStamp& stamp) {
  Json json{{"schema", "weft.trial/1"},
            {"generated_at", to_string(stamp.generated_at)},
            {"tool_version", stamp.tool_version},
            {"fabric", fabric.name()},
            {"demand", options.asked.name},
            {"qps", options.assign.qps},
            {"labels", trial_options.labels},
            {"ratio", trial.assignment().ratio()},
            {"assigned", times_json(summary.steered)},
            {"random", times_json(summary.hashed)},
            {"gain", {{"measured", summary.gain_measured}, {"predicted", summary.gain_predicted}}}};
  auto& sendings = json["sendings"] = Json::array();
  for (const TrialSending& sending : trial.sendings()) sendings.push_back(sending_json(fabric, sending));
  if (trial.after_failure())
    json["after_failure"] = after_json(fabric, *trial_options.fail, *trial.after_failure());
  json["complaints"] = summary.complaints;
  auto& unassigned = json["unassigned"] = Json::array();
  for (const RefusedFlow& line : options.asked.refused)
    unassigned.push_back({{"flow", line.flow}, {"why", line.why}});
  for (const PhaseAssignment& phase : trial.assignment().phases)
    for (const Unassigned& item : phase.unassigned)
      unassigned.push_back({{"flow", item.flow}, {"why", item.why}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string time_of(double seconds) { return to_string(Nanoseconds(std::llround(seconds * 1e6) * 1000)); }
std::string off_by(double measured, double predicted) {
  return predicted > 0 ? fmt::format("{:+.1f}%", (measured / predicted - 1) * 100) : "-";
}

void print_row(const char* labels, const TrialTimes& times) {
  fmt::print("{:<10} {:>10} {:>10} {:>8} {:>10} {:>8} {:>10} {:>11}\n", labels, time_of(times.measured),
             time_of(times.predicted), off_by(times.measured, times.predicted),
             times.by_packets > 0 ? time_of(times.by_packets) : "-", off_by(times.measured, times.by_packets),
             times.packets, times.sent_again);
}

void print_links(const Fabric& fabric, const TrialSummary& summary) {
  if (!summary.worst) return;
  const ChannelBytes& worst = *summary.worst;
  fmt::print(
      "\n{} channels carried assigned flows; farthest from the plan: {}, {:.0f} of {:.0f} bytes ({})\n",
      summary.channels, fabric.name_of(worst.channel), worst.counted, worst.planned,
      off_by(worst.counted, worst.planned));
}

void print_after_failure(const Fabric& fabric, LinkId link, const TrialAfterFailure& after) {
  const std::string name = fabric.name_of(link);
  fmt::print("\n{} down:\n", name);
  fmt::print("  the labels of before: {} of {} QPs stuck\n", after.stuck.unfinished, after.stuck.qps);
  std::string blamed;
  for (const LinkId one : after.blamed) blamed += (blamed.empty() ? ": " : ", ") + fabric.name_of(one);
  fmt::print("  paths mapped anew in {}, diagnosis in {}: {}{}\n", time_of(after.mapping),
             time_of(after.diagnosing), to_string(after.verdict), blamed);
  fmt::print(
      "  {} QPs on another path, assigned in {}; first byte {} after the diagnosis, all in force after {}\n",
      after.moved, time_of(after.assigning), time_of(after.first_byte), time_of(after.in_force));
  fmt::print("  done in {}, predicted {} ({}); {} of {} QPs unfinished; {:.0f} bytes over {}\n",
             time_of(after.again.measured), time_of(after.again.predicted),
             off_by(after.again.measured, after.again.predicted), after.again.unfinished, after.again.qps,
             bytes_over(after.again, link), name);
}

void print_table(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                 const BalanceTrial& trial, const TrialSummary& summary) {
  fmt::print("{} on {}, {} QP{} a flow, {} labels a pair; medians of {}\n\n", options.asked.name,
             fabric.name(), options.assign.qps, options.assign.qps == 1 ? "" : "s", trial_options.labels,
             trial_options.repeats);
  fmt::print("{:<10} {:>10} {:>10} {:>8} {:>10} {:>8} {:>10} {:>11}\n", "labels", "time", "predicted", "off",
             "by packets", "off", "packets", "sent again");
  print_row("assigned", summary.steered);
  print_row("random", summary.hashed);
  fmt::print("{:<10} {:>10.2f} {:>10.2f} {:>8}\n", "gain", summary.gain_measured, summary.gain_predicted,
             off_by(summary.gain_measured, summary.gain_predicted));
  print_links(fabric, summary);
  if (trial.after_failure()) print_after_failure(fabric, *trial_options.fail, *trial.after_failure());
  for (const std::string& complaint : summary.complaints)
    fmt::print("\nnot as it should be: {}\n", complaint);
}

/// Table or document (weft.trial/1) on stdout. Exit status: healthy when everything was delivered, the links
/// counted what was planned and the steered flows took the time predicted (and, after a failure, were in
/// force within a second of the diagnosis); else degraded.
int answer_trial(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                 const BalanceTrial& trial) {
  const TrialSummary summary = summarize(fabric, trial_options, trial);
  if (options.json)
    fmt::print("{}\n", trial_json(fabric, options, trial_options, trial, summary, stamp_now()));
  else
    print_table(fabric, options, trial_options, trial, summary);
  const bool all = print_unassigned(options.asked, trial.assignment()) == 0;
  return all && summary.complaints.empty() ? kExitHealthy : kExitDegraded;
}

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

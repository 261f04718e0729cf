#include "probes/engine/dpdk/dpdk_engine.hpp"

#include <sched.h>

#include <algorithm>

#include "probes/engine/dpdk/dpdk_device.hpp"

namespace weft::dpdk {
namespace {

/// Of memory that is no huge pages: what is not used is not taken but for 50 bytes of each page, which EAL
/// keeps books of. A NIC of MTU 9000 has buffers of 11 MB.
constexpr const char* kMegabytes = "256";

bool says(const DpdkArguments& arguments, std::string_view option) {
  return std::ranges::count(arguments.start, option) > 0;
}

/// The first CPU that this process may run on. DPDK binds the thread that starts it there, which is none of
/// ours.
int first_cpu() {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) return cpu;
  return 0;
}

/// What EAL is given: processes of one machine share nothing, no device is taken unasked, no socket opened.
std::vector<std::string> start_words(const DpdkArguments& arguments) {
  std::vector<std::string> words{"weft"};
  words.insert(words.end(), arguments.start.begin(), arguments.start.end());
  const bool huge = !says(arguments, "--no-huge");
  const auto add = [&](const char* word) {
    if (!says(arguments, word)) words.emplace_back(word);
  };
  add("--no-pci");
  add("--no-telemetry");
  if (!says(arguments, "--in-memory")) add(huge ? "--in-memory" : "--no-shconf");
  if (!huge && !says(arguments, "-m")) words.insert(words.end(), {"-m", kMegabytes});
  if (!says(arguments, "-l") && !says(arguments, "--lcores"))
    words.insert(words.end(), {"--lcores", fmt::format("0@{}", first_cpu())});
  return words;
}

Result<void> start(const DpdkLibrary& library, const DpdkArguments& arguments) {
  const auto words = start_words(arguments);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  WeftDpdkError error{};
  const int kind = library.start(pointers.data(), static_cast<int>(pointers.size()), &error);
  if (kind == WEFT_DPDK_DONE) return {};
  if (kind == WEFT_DPDK_OTHER_START)
    return fail(
        ErrorKind::conflict,
        "DPDK runs in this process since it was started with '{}': it starts once; end this agent to start "
        "it otherwise",
        error.text);
  return fail(ErrorKind::not_supported, "DPDK does not start: {}{}", error.text,
              says(arguments, "--no-huge")
                  ? ""
                  : "; it was to use huge pages: reserve some, or add --no-huge to --dpdk-args");
}

}  // namespace

Result<DpdkEngine> open_dpdk_engine(const nic::HostNic& nic, const DpdkOptions& options,
                                    const packet::RunSecrets& secrets, PortId self,
                                    datapath::SharedNics nics) {
  WEFT_TRY(const auto spec, device_for(options.arguments, nic.interface));
  WEFT_TRY(const auto kernel, look_up_nic(nic));
  WEFT_TRY(auto library, DpdkLibrary::load(options.module));
  WEFT_TRY_VOID(start(*library, options.arguments));
  WEFT_TRY(const auto device, DpdkDevice::open(std::move(library), spec, nic, kernel));
  WEFT_TRY(auto engine, make_packet_engine(nic, kernel, device->ports(), secrets, self, std::move(nics)));
  return DpdkEngine{std::move(engine), device->uses()};
}

}  // namespace weft::dpdk

#include "probes/rdma/verbs_device.hpp"

#include <infiniband/verbs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <vector>

#include "probes/rdma/relabel.hpp"

namespace weft::rdma {
namespace {

constexpr std::size_t kMaxGids = 1024;
constexpr std::uint32_t kMaxIndex = 255;  // an address vector has eight bits for it
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

GidKind kind_of(const ibv_gid_entry& entry) {
  if (entry.gid_type == IBV_GID_TYPE_IB) return GidKind::infiniband;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? GidKind::roce_v1 : GidKind::roce_v2;
}

/// The GIDs of a device that are in use.
std::vector<GidEntry> gids_of(const VerbsLibrary& library, ibv_context* context, const std::string& device) {
  std::vector<ibv_gid_entry> table(kMaxGids);
  const long count = library.query_gid_table(context, table.data(), table.size(), 0, sizeof(ibv_gid_entry));
  std::vector<GidEntry> entries;
  for (long i = 0; i < count; ++i) {
    const ibv_gid_entry& one = table[static_cast<std::size_t>(i)];
    if (one.gid_index > kMaxIndex) continue;
    GidEntry entry{device, static_cast<std::uint8_t>(one.port_num), one.gid_index, {}, kind_of(one), {}};
    std::memcpy(entry.gid.data(), one.gid.raw, entry.gid.size());
    if (char name[IF_NAMESIZE]; if_indextoname(one.ndev_ifindex, name) != nullptr) entry.netdev = name;
    entries.push_back(std::move(entry));
  }
  return entries;
}

class DeviceList {
 public:
  explicit DeviceList(const VerbsLibrary& library)
      : library_(library), list_(library.get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_ != nullptr) library_.free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  int count() const { return list_ == nullptr ? 0 : count_; }
  ibv_device* at(int i) const { return list_[i]; }

 private:
  const VerbsLibrary& library_;
  int count_ = 0;
  ibv_device** list_;
};

/// libibverbs looks for the file in several ways and keeps the last error, which hides that it may not be
/// opened.
std::string refusal_of(const std::string& device, const char* file, int error) {
  const auto path = fmt::format("/dev/infiniband/{}", file);
  if (access(path.c_str(), R_OK | W_OK) != 0 && errno == EACCES) error = EACCES;
  return fmt::format("{} ({}): {}", device, path, std::strerror(error));
}

/// A queue pair is given the number in eight bits.
std::uint8_t reads_of(int told) { return static_cast<std::uint8_t>(std::clamp(told, 0, 255)); }

RdmaDriver driver_of(const VerbsLibrary& library, ibv_device* device) {
  if (library.is_mlx5 && library.is_mlx5(device)) return RdmaDriver::mlx5;
  return library.is_soft_roce && library.is_soft_roce(device) ? RdmaDriver::soft_roce : RdmaDriver::other;
}

/// An error where the port is not up, or its device is no more.
Result<ibv_port_attr> active_port(ibv_context* context, const GidEntry& entry) {
  ibv_port_attr port{};
  if (const int error = ask_port(context, entry.port, port); error != 0)
    return fail(ErrorKind::absent, "{}: cannot read port {}: {}: has its driver been unloaded?", entry.device,
                entry.port, std::strerror(error));
  if (port.state == IBV_PORT_ACTIVE) return port;
  return fail(ErrorKind::absent, "{}: port {} is not active: {}", entry.device, entry.port,
              port.link_layer == IBV_LINK_LAYER_INFINIBAND
                  ? "is its cable in, and does a subnet manager run?"
                  : fmt::format("is {} up, and its cable in? (ip link)",
                                entry.netdev.empty() ? "its interface" : entry.netdev));
}

/// What libibverbs shows no device for: a driver that is not loaded, or one that it does not know.
tl::unexpected<Error> no_device(const std::filesystem::path& of_kernel) {
  std::string names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(of_kernel, error))
    names += (names.empty() ? "" : ", ") + entry.path().filename().string();
  if (names.empty())
    return fail(ErrorKind::absent, "this host has no RDMA device: is its driver loaded? (rdma link)");
  return fail(
      ErrorKind::not_supported,
      "libibverbs does not see this host's RDMA device {}: install the package ibverbs-providers; in a "
      "container, hand in /dev/infiniband",
      names);
}

std::string memory_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} KiB", limit.rlim_cur / 1024);
}

}  // namespace

Result<std::shared_ptr<const VerbsDevice>> VerbsDevice::open(std::shared_ptr<const VerbsLibrary> library,
                                                             const GidWish& wish) {
  std::shared_ptr<VerbsDevice> device(new VerbsDevice);
  device->library_ = std::move(library);
  WEFT_TRY_VOID(device->find_port(wish));
  WEFT_TRY_VOID(device->read_port());
  device->read_abilities();
  device->pd_ = device->library_->alloc_pd(device->context_);
  if (device->pd_ == nullptr)
    return fail(ErrorKind::permission, "{}: no protection domain: {}", device->name_, std::strerror(errno));
  return device;
}

/// Opens every device: only an open one tells its GIDs; those that are not chosen are closed again.
Result<void> VerbsDevice::find_port(const GidWish& wish) {
  const DeviceList list(*library_);
  if (list.count() == 0) return no_device("/sys/class/infiniband");
  std::map<std::string, ibv_context*> opened;
  std::vector<GidEntry> gids;
  std::string refused;
  for (int i = 0; i < list.count(); ++i) {
    const std::string name = library_->get_device_name(list.at(i));
    ibv_context* context = library_->open_device(list.at(i));
    if (context == nullptr) {
      refused += "; " + refusal_of(name, list.at(i)->dev_name, errno);
      continue;
    }
    opened[name] = context;
    std::ranges::move(gids_of(*library_, context, name), std::back_inserter(gids));
  }
  const auto choice = choose_gid(gids, wish);
  for (const auto& [name, context] : opened) {
    if (choice && name == choice->entry.device)
      context_ = context;
    else
      library_->close_device(context);
  }
  if (!choice && opened.empty())
    return fail(ErrorKind::permission,
                "no RDMA device may be opened{}: run as root, or give this user the device files", refused);
  if (!choice) return fail(choice.error().kind, "{}{}", choice.error().message, refused);
  gid_ = *choice;
  name_ = gid_.entry.device;
  driver_ = driver_of(*library_, context_->device);
  address_.gid = gid_.entry.gid;
  return {};
}

Result<void> VerbsDevice::check_standing() const {
  WEFT_TRY_VOID(active_port(context_, gid_.entry));
  const auto now = gids_of(*library_, context_, name_);
  const bool stands = std::ranges::any_of(now, [this](const GidEntry& entry) {
    return entry.port == gid_.entry.port && entry.index == gid_.entry.index && entry.gid == gid_.entry.gid;
  });
  if (stands) return {};
  return fail(ErrorKind::absent, "{} port {}: GID {} ({}) has gone: its address was removed from {}", name_,
              port(), gid_.entry.index, gid_text(gid_.entry.gid),
              gid_.entry.netdev.empty() ? "its interface" : gid_.entry.netdev);
}

Result<void> VerbsDevice::read_port() {
  WEFT_TRY(const auto port, active_port(context_, gid_.entry));
  path_mtu_ = Bytes(128 << port.active_mtu);
  if (port.link_layer != IBV_LINK_LAYER_INFINIBAND) return {};
  address_.lid = Lid(port.lid);
  address_.lmc = port.lmc;
  return {};
}

void VerbsDevice::read_abilities() {
  ibv_device_attr_ex attributes{};
  verbs_context* ops = verbs_get_ctx_op(context_, query_device_ex);
  if (ops == nullptr || ops->query_device_ex(context_, nullptr, &attributes, sizeof attributes) != 0) return;
  clock_ = DeviceClock::make(attributes.hca_core_clock, attributes.completion_timestamp_mask);
  reads_ = {.asks = reads_of(attributes.orig_attr.max_qp_init_rd_atom),
            .serves = reads_of(attributes.orig_attr.max_qp_rd_atom)};
}

VerbsDevice::~VerbsDevice() {
  if (pd_ != nullptr) library_->dealloc_pd(pd_);
  if (context_ != nullptr) library_->close_device(context_);
}

Result<std::unique_ptr<MemoryRegion>> MemoryRegion::register_buffer(std::shared_ptr<const VerbsDevice> device,
                                                                    packet::TransferBuffer& buffer) {
  const VerbsLibrary& library = device->library();
  const auto bytes = static_cast<std::size_t>(buffer.size().count());
  std::string refused;
  for (const packet::MemoryPath path : buffer.paths()) {
    const auto reach = buffer.take(path);
    if (!reach) {
      refused += fmt::format("; {}: {}", to_string(path), reach.error().message);
      continue;
    }
    const auto at = reinterpret_cast<std::uintptr_t>(reach->address);
    errno = EOPNOTSUPP;
    ibv_mr* mr = nullptr;
    if (!reach->dma_buf)
      mr = library.reg_mr(device->pd(), reach->address, bytes, kAccess);
    else if (library.reg_dmabuf_mr)
      mr = library.reg_dmabuf_mr(device->pd(), 0, bytes, at, *reach->dma_buf, kAccess);
    if (mr != nullptr)
      return std::unique_ptr<MemoryRegion>(
          new MemoryRegion(std::move(device), mr, static_cast<std::byte*>(reach->address)));
    if (errno == ENOMEM || errno == EPERM)
      return fail(
          ErrorKind::permission,
          "{}: cannot lock {} bytes of memory for RDMA (limit: {}): raise it with `ulimit -l unlimited`, or "
          "LimitMEMLOCK=infinity of the service",
          device->name(), bytes, memory_limit());
    refused += fmt::format("; {}: {}", to_string(path), std::strerror(errno));
  }
  return fail(ErrorKind::not_supported, "{} takes memory by none of the ways there are{}", device->name(),
              refused);
}

MemoryRegion::~MemoryRegion() { device_->library().dereg_mr(mr_); }
std::uint32_t MemoryRegion::local_key() const { return mr_->lkey; }
std::uint32_t MemoryRegion::remote_key() const { return mr_->rkey; }

}  // namespace weft::rdma

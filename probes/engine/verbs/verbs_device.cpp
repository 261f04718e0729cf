#include "probes/engine/verbs/verbs_device.hpp"

#include <infiniband/verbs.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t kMostGids = 1024;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// All GIDs of a device.
std::vector<ibv_gid_entry> gids_of(const VerbsLibrary& library, ibv_context* context) {
  std::vector<ibv_gid_entry> entries(kMostGids);
  const long count =
      library.query_gid_table(context, entries.data(), entries.size(), 0, sizeof(ibv_gid_entry));
  entries.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return entries;
}

bool serves(const ibv_gid_entry& entry, const Gid& gid) {
  const bool kind = entry.gid_type == IBV_GID_TYPE_ROCE_V2 || entry.gid_type == IBV_GID_TYPE_IB;
  return kind && std::memcmp(entry.gid.raw, gid.data(), gid.size()) == 0;
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

std::string memory_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} KiB", limit.rlim_cur / 1024);
}

}  // namespace

Gid gid_of(const IpAddress& address) {
  if (address.is_v6()) return address.bytes();
  Gid gid{};
  gid[10] = gid[11] = 0xFF;
  std::copy_n(address.bytes().begin(), 4, gid.begin() + 12);
  return gid;
}

Result<std::shared_ptr<const VerbsDevice>> VerbsDevice::open(std::shared_ptr<const VerbsLibrary> library,
                                                             const IpAddress& address) {
  std::shared_ptr<VerbsDevice> device(new VerbsDevice);
  device->library_ = std::move(library);
  if (const auto found = device->find_port(address); !found) return pass_on(found);
  if (const auto read = device->read_port(); !read) return pass_on(read);
  device->pd_ = device->library_->alloc_pd(device->context_);
  if (device->pd_ == nullptr)
    return fail(ErrorKind::permission, "{}: no protection domain: {}", device->name_, std::strerror(errno));
  return device;
}

/// The first device one of whose ports has the address as a GID of RoCE v2.
Result<void> VerbsDevice::find_port(const IpAddress& address) {
  const DeviceList list(*library_);
  if (list.count() == 0)
    return fail(ErrorKind::absent, "this host has no RDMA device: is its driver loaded? (rdma link)");
  std::string seen;
  for (int i = 0; i < list.count(); ++i) {
    const std::string name = library_->get_device_name(list.at(i));
    ibv_context* context = library_->open_device(list.at(i));
    if (context == nullptr) {
      seen += fmt::format("; {}: {}", name, std::strerror(errno));
      continue;
    }
    const auto gids = gids_of(*library_, context);
    const auto found =
        std::ranges::find_if(gids, [gid = gid_of(address)](const auto& g) { return serves(g, gid); });
    if (found != gids.end()) {
      context_ = context;
      name_ = name;
      port_ = static_cast<std::uint8_t>(found->port_num);
      gid_index_ = static_cast<std::uint8_t>(found->gid_index);
      address_.gid = gid_of(address);
      return {};
    }
    seen += fmt::format("; {}: {} GIDs, none of it", name, gids.size());
    library_->close_device(context);
  }
  return fail(ErrorKind::absent, "no RDMA device has {} as a RoCE v2 GID{}", to_string(address), seen);
}

Result<void> VerbsDevice::read_port() {
  ibv_port_attr port{};
  verbs_context* ops = verbs_get_ctx_op(context_, query_port);
  const int error = ops != nullptr ? ops->query_port(context_, port_, &port, sizeof port) : ENOSYS;
  if (error != 0)
    return fail(ErrorKind::absent, "{}: cannot read port {}: {}", name_, port_, std::strerror(error));
  if (port.state != IBV_PORT_ACTIVE)
    return fail(ErrorKind::absent, "{}: port {} is not active", name_, port_);
  path_mtu_ = Bytes(128 << port.active_mtu);
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) address_.lid = Lid(port.lid);
  return {};
}

VerbsDevice::~VerbsDevice() {
  if (pd_ != nullptr) library_->dealloc_pd(pd_);
  if (context_ != nullptr) library_->close_device(context_);
}

Result<std::unique_ptr<MemoryRegion>> MemoryRegion::register_buffer(std::shared_ptr<const VerbsDevice> device,
                                                                    TransferBuffer& buffer) {
  const VerbsLibrary& library = device->library();
  const auto bytes = static_cast<std::size_t>(buffer.size().count());
  std::string refused;
  for (const MemoryPath path : buffer.paths()) {
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

}  // namespace weft

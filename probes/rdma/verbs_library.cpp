#include "probes/rdma/verbs_library.hpp"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <string>

namespace weft::rdma {
namespace {

/// Its devices alone tell in sysfs which interface they stand on (parent_show of the kernel's rxe_verbs.c).
bool stands_on_an_interface(ibv_device* device) {
  return access((std::string(device->ibdev_path) + "/parent").c_str(), F_OK) == 0;
}

}  // namespace

struct VerbsLibrary::Handle {
  void* verbs = nullptr;
  void* mlx5 = nullptr;
  ~Handle() {
    // The library starts no thread, but providers register themselves with it for good: it stays loaded.
  }
};

Result<std::shared_ptr<const VerbsLibrary>> VerbsLibrary::load() {
  auto made = std::make_shared<VerbsLibrary>();
  made->handle_ = std::make_shared<Handle>();
  void* lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (lib == nullptr)
    return fail(ErrorKind::not_supported,
                "no RDMA on this host: {}; install the packages rdma-core and libibverbs1", dlerror());
  made->handle_->verbs = lib;
  VerbsLibrary& v = *made;
  const bool all =
      find_symbol(lib, "ibv_get_device_list", v.get_device_list) &&
      find_symbol(lib, "ibv_free_device_list", v.free_device_list) &&
      find_symbol(lib, "ibv_get_device_name", v.get_device_name) &&
      find_symbol(lib, "ibv_open_device", v.open_device) &&
      find_symbol(lib, "ibv_close_device", v.close_device) &&
      find_symbol(lib, "_ibv_query_gid_table", v.query_gid_table) &&
      find_symbol(lib, "ibv_alloc_pd", v.alloc_pd) && find_symbol(lib, "ibv_dealloc_pd", v.dealloc_pd) &&
      find_symbol(lib, "ibv_reg_mr", v.reg_mr) && find_symbol(lib, "ibv_dereg_mr", v.dereg_mr) &&
      find_symbol(lib, "ibv_create_comp_channel", v.create_comp_channel) &&
      find_symbol(lib, "ibv_destroy_comp_channel", v.destroy_comp_channel) &&
      find_symbol(lib, "ibv_create_cq", v.create_cq) && find_symbol(lib, "ibv_destroy_cq", v.destroy_cq) &&
      find_symbol(lib, "ibv_get_cq_event", v.get_cq_event) &&
      find_symbol(lib, "ibv_ack_cq_events", v.ack_cq_events) &&
      find_symbol(lib, "ibv_create_qp", v.create_qp) && find_symbol(lib, "ibv_modify_qp", v.modify_qp) &&
      find_symbol(lib, "ibv_query_qp", v.query_qp) && find_symbol(lib, "ibv_destroy_qp", v.destroy_qp) &&
      find_symbol(lib, "ibv_create_ah", v.create_ah) && find_symbol(lib, "ibv_destroy_ah", v.destroy_ah);
  if (!all)
    return fail(ErrorKind::not_supported, "libibverbs on this host is older than rdma-core 32: {}",
                dlerror());
  find_symbol(lib, "ibv_reg_dmabuf_mr", v.reg_dmabuf_mr);
  v.is_soft_roce = stands_on_an_interface;
  if (void* mlx5 = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL); mlx5 != nullptr) {
    v.handle_->mlx5 = mlx5;
    find_symbol(mlx5, "mlx5dv_is_supported", v.is_mlx5);
    find_symbol(mlx5, "mlx5dv_modify_qp_udp_sport", v.modify_qp_udp_sport);
  }
  return made;
}

}  // namespace weft::rdma

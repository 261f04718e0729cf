// The functions of libibverbs, loaded when an RDMA engine is first opened: weft itself runs where there is
// none. Types are only named here; verbs.h stays in .cpp files.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "topology/base/result.hpp"

struct ibv_ah;
struct ibv_ah_attr;
struct ibv_port_attr;
struct ibv_comp_channel;
struct ibv_context;
struct ibv_cq;
struct ibv_cq_ex;
struct ibv_device;
struct ibv_gid_entry;
struct ibv_mr;
struct ibv_pd;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_qp_init_attr;

namespace weft::rdma {

struct VerbsLibrary {
  /// Error: absent (no libibverbs on this host).
  static Result<std::shared_ptr<const VerbsLibrary>> load();

  ibv_device** (*get_device_list)(int* count) = nullptr;
  void (*free_device_list)(ibv_device** list) = nullptr;
  const char* (*get_device_name)(ibv_device* device) = nullptr;
  ibv_context* (*open_device)(ibv_device* device) = nullptr;
  int (*close_device)(ibv_context* context) = nullptr;
  long (*query_gid_table)(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t flags,
                          std::size_t entry_size) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context* context) = nullptr;
  int (*dealloc_pd)(ibv_pd* pd) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd* pd, void* address, std::size_t length, int access) = nullptr;
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                           int access) = nullptr;
  int (*dereg_mr)(ibv_mr* mr) = nullptr;
  ibv_comp_channel* (*create_comp_channel)(ibv_context* context) = nullptr;
  int (*destroy_comp_channel)(ibv_comp_channel* channel) = nullptr;
  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                       int vector) = nullptr;
  int (*destroy_cq)(ibv_cq* cq) = nullptr;
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** cq, void** user) = nullptr;
  void (*ack_cq_events)(ibv_cq* cq, unsigned int events) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attributes) = nullptr;
  int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask) = nullptr;
  int (*query_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* made_with) = nullptr;
  int (*destroy_qp)(ibv_qp* qp) = nullptr;
  ibv_ah* (*create_ah)(ibv_pd* pd, ibv_ah_attr* attributes) = nullptr;
  int (*destroy_ah)(ibv_ah* handle) = nullptr;
  /// Soft-RoCE (rdma_rxe), which no name tells.
  bool (*is_soft_roce)(ibv_device* device) = nullptr;
  /// Of libmlx5, may be absent: a ConnectX. Names tell nothing: rdma-core renames devices (rocep1s0f0).
  bool (*is_mlx5)(ibv_device* device) = nullptr;
  /// Of libmlx5, may be absent: the source port of a connected queue pair in service
  /// (mlx5dv_modify_qp_udp_sport).
  int (*modify_qp_udp_sport)(ibv_qp* qp, std::uint16_t port) = nullptr;

 private:
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

/// False: the library has no such function, and dlerror says so.
template <class F>
bool find_symbol(void* library, const char* name, F& place) {
  place = reinterpret_cast<F>(dlsym(library, name));
  return place != nullptr;
}

}  // namespace weft::rdma

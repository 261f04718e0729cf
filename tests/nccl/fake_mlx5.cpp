// libmlx5 beside the fake driver: every device is a ConnectX, which changes the port of a queue pair itself.
#include "tests/nccl/fake_driver.hpp"

struct ibv_device;

extern "C" {
bool mlx5dv_is_supported(ibv_device*) { return true; }
int mlx5dv_modify_qp_udp_sport(ibv_qp* qp, std::uint16_t port) { return fake_modify_port(qp, port); }
}

#include "probes/packet/pair_key.hpp"

#include <sodium.h>

#include <algorithm>
#include <type_traits>

#include "topology/base/bytes.hpp"

namespace weft::packet {
namespace {

// What is derived: no two inputs of different kinds are the same.
constexpr std::uint8_t kEpochName = 1;
constexpr std::uint8_t kHostSecret = 2;
constexpr std::uint8_t kPairKey = 3;

template <class Out>
Out derive(const Secret& secret, ByteSpan input) {
  static_assert(std::tuple_size_v<Out> >= crypto_generichash_BYTES_MIN);
  static_assert(std::tuple_size_v<Secret> == crypto_generichash_KEYBYTES);
  Out out;
  crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                     reinterpret_cast<const unsigned char*>(input.data()), input.size(),
                     reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  return out;
}

}  // namespace

RunId epoch_name(const Secret& secret, std::uint64_t epoch) {
  std::array<std::byte, 9> input;
  store_u8(input, 0, kEpochName);
  store_be64(input, 1, epoch);
  return RunId(load_be64(derive<std::array<std::byte, 16>>(secret, input), 0));
}

Secret host_secret(const Secret& secret, std::uint64_t epoch, std::uint32_t host) {
  std::array<std::byte, 13> input;
  store_u8(input, 0, kHostSecret);
  store_be64(input, 1, epoch);
  store_be32(input, 9, host);
  return derive<Secret>(secret, input);
}

RunKey pair_key(const Secret& of_host, const IpAddress& asker, const IpAddress& asked) {
  std::array<std::byte, 34> input;
  store_u8(input, 0, kPairKey);
  store_u8(input, 1, asker.is_v6() ? 6 : 4);  // both are of one family
  const auto put = [&](const IpAddress& address, std::size_t at) {
    std::ranges::transform(address.bytes(), input.begin() + static_cast<std::ptrdiff_t>(at),
                           [](std::uint8_t byte) { return std::byte{byte}; });
  };
  put(asker, 2);
  put(asked, 18);
  return derive<RunKey>(of_host, input);
}

}  // namespace weft::packet

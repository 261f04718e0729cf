// The DPDK part of weft as a shared module with a C interface (libweft_dpdk.so, made of dpdk_module.cpp and
// of DPDK's own libraries, with the drivers of its virtual devices alone). It is loaded only when a NIC is
// opened by DPDK: an agent without it stays as small as it is. DPDK lives once in a process and for good: it
// is started by the first call and never ended, devices come and go. Functions answer 0, or a WeftDpdkKind
// with the text in `error`. Opening and closing: any thread, one at a time. Sending, receiving, releasing,
// counting: any thread; one at a time for a queue of a port.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Both sides must agree: the module of another build is refused.
#define WEFT_DPDK_INTERFACE 3

enum WeftDpdkKind {
  WEFT_DPDK_DONE = 0,
  WEFT_DPDK_REFUSED = 1,      // DPDK does not start with these arguments, or on this machine
  WEFT_DPDK_OTHER_START = 2,  // it was started with other arguments before
  WEFT_DPDK_NO_DEVICE = 3,    // the driver does not open it
  WEFT_DPDK_NO_MEMORY = 4,
  WEFT_DPDK_NO_RULE = 5  // the device does not take this rule
};

typedef struct WeftDpdkError {
  char text[512];
} WeftDpdkError;

typedef struct WeftDpdkDevice {
  const char* name;       // net_af_packet3: the driver and a number that no other device has
  const char* arguments;  // iface=p1,framecnt=4096
  uint32_t max_frame;     // bytes of the largest frame that is received or sent
  uint32_t room;          // bytes that a buffer must hold for the driver's sake; at least max_frame
  uint32_t queues;        // wanted in each direction; the device may have fewer
  uint32_t isolated;      // wanted: only what a rule takes comes to the port, all else stays the kernel's
} WeftDpdkDevice;

/// What a device has that was opened.
typedef struct WeftDpdkAbilities {
  uint32_t queues;            // in each direction
  uint32_t stamps;            // its driver stamps frames that come in
  uint32_t reads_clock;       // weft_dpdk_clock reads what stamps are ticks of
  uint32_t isolated;          // nothing comes before a rule takes it
  WeftDpdkError no_isolated;  // why not, where it was wanted
} WeftDpdkAbilities;

#define WEFT_DPDK_RULE_BYTES 72

/// Frames that the device takes from the kernel: those to an address, no fragments, of UDP to a port or of
/// ICMP (ICMPv6) of a type, with these bytes, as far as the mask has bits, behind the UDP header or the eight
/// bytes of the ICMP header.
typedef struct WeftDpdkRule {
  uint32_t v6;
  uint8_t to[16];     // IPv4: the first four
  uint8_t icmp_type;  // 0: UDP
  uint16_t udp_port;
  uint32_t size;  // of bytes and mask
  uint8_t bytes[WEFT_DPDK_RULE_BYTES];
  uint8_t mask[WEFT_DPDK_RULE_BYTES];
} WeftDpdkRule;

typedef struct WeftDpdkPort WeftDpdkPort;

/// A frame that came in; `buffer` goes back by weft_dpdk_release.
typedef struct WeftDpdkFrame {
  const void* bytes;
  uint32_t size;
  uint64_t stamp;  // ticks of the device's clock; 0: none
  void* buffer;
} WeftDpdkFrame;

/// Since the port was opened.
typedef struct WeftDpdkCounts {
  uint64_t missed;  // came in and found no place or no buffer
  uint64_t unsent;  // taken and not sent
} WeftDpdkCounts;

#pragma GCC visibility push(default)  // all else of the module is hidden
int weft_dpdk_interface(void);
/// Starts DPDK at the first call; a later one, and one after a refusal, is answered as the first was. The
/// caller keeps its CPUs.
int weft_dpdk_start(const char* const* arguments, int count, WeftDpdkError* error);

/// In the calling thread's network namespace.
int weft_dpdk_open(const WeftDpdkDevice* device, WeftDpdkPort** port, WeftDpdkAbilities* has,
                   WeftDpdkError* error);
/// Nobody may hold a frame of it. Its rules end with it.
void weft_dpdk_close(WeftDpdkPort* port);
/// Whether the device takes the rule; where `apply` is not 0, it does from now on, into the first queue.
int weft_dpdk_rule(WeftDpdkPort* port, const WeftDpdkRule* rule, uint32_t apply, WeftDpdkError* error);
/// The device's clock now. WEFT_DPDK_NO_DEVICE: it has none that can be read.
int weft_dpdk_clock(WeftDpdkPort* port, uint64_t* ticks);

/// How many frames were taken, from the front.
uint32_t weft_dpdk_send(WeftDpdkPort* port, uint32_t queue, const void* const* frames, const uint32_t* sizes,
                        uint32_t count);
uint32_t weft_dpdk_receive(WeftDpdkPort* port, uint32_t queue, WeftDpdkFrame* frames, uint32_t room);
/// The buffers of frames that came in by this port.
void weft_dpdk_release(WeftDpdkPort* port, void* const* buffers, uint32_t count);
WeftDpdkCounts weft_dpdk_counts(WeftDpdkPort* port);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#!/usr/bin/env python3
"""Builds one probe of each family, a standing one of InfiniBand, and the payload of a standing one over queue pairs,
from docs/wire.md alone, without weft's code, and prints them in hex: the golden frames of
tests/probes/packet/probe_frame_test.cpp, tests/probes/watch/mad_codec_test.cpp and ud_codec_test.cpp.
SipHash-2-4 is written out (Aumasson and Bernstein, 2012)."""
import ipaddress
import struct
import zlib

M = (1 << 64) - 1


def siphash(key, data):
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    rot = lambda x, n: (x << n | x >> (64 - n)) & M

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & M; v[1] = rot(v[1], 13) ^ v[0]; v[0] = rot(v[0], 32)
            v[2] = (v[2] + v[3]) & M; v[3] = rot(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & M; v[3] = rot(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & M; v[1] = rot(v[1], 17) ^ v[2]; v[2] = rot(v[2], 32)

    tail = len(data) % 8
    words = list(struct.unpack("<%dQ" % (len(data) // 8), data[: len(data) - tail]))
    words.append(int.from_bytes(data[len(data) - tail :], "little") | (len(data) & 0xFF) << 56)
    for word in words:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return struct.pack("<Q", v[0] ^ v[1] ^ v[2] ^ v[3])


def ones_sum(data):
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def probe(source, destination, size):
    key = bytes(range(16))
    source, destination = ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed
    v6 = len(source) == 16
    label, back = 50001, 50002
    head = struct.pack(">4sBBHQIIIIQI", b"WEFT", 1, 1, back, 0x1122334455667788, 9, 17, 3, 0x01020304, 123456789, 0)
    envelope = source.ljust(16, b"\0") + destination.ljust(16, b"\0") + struct.pack(">H", label)
    payload = head + siphash(key, head + envelope)
    udp_size = size - (40 if v6 else 20)
    payload += bytes(udp_size - 8 - 12 - 8 - len(payload) - 4)
    first = int.from_bytes(siphash(key, struct.pack(">III", 9, 17, 3))[:3], "big")
    bth = struct.pack(">BBHII", 0x64, 0, 0xFFFF, 0xFFFFFE, first + 0x01020304 & 0xFFFFFF)
    deth = struct.pack(">II", 0x57454654, 0xFFFFFE)
    udp = struct.pack(">HHHH", label, 4791, udp_size, 0)
    if v6:
        ip = struct.pack(">IHBB", 6 << 28 | 0x68 << 20, udp_size, 17, 5) + source + destination
        masked = struct.pack(">IHBB", 0x6FFFFFFF, udp_size, 17, 255) + source + destination
    else:
        pack = lambda tos, ttl, checksum: struct.pack(
            ">BBHHHBBH", 0x45, tos, size, 0xBEEF, 0x4000, ttl, 17, checksum) + source + destination
        ip = pack(0x68, 5, ones_sum(pack(0x68, 5, 0)))
        masked = pack(255, 255, 0xFFFF)
    masked_bth = bth[:4] + b"\xff" + bth[5:]
    icrc = zlib.crc32(b"\xff" * 8 + masked + udp[:6] + b"\xff\xff" + masked_bth + deth + payload)
    ethernet = bytes.fromhex("020000000002" "020000000001") + (b"\x86\xdd" if v6 else b"\x08\x00")
    return ethernet + ip + udp + bth + deth + payload + struct.pack("<I", icrc)


def mad(source, destination, label, back):
    key = bytes(range(16))
    gids = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    head = struct.pack(">4sBBHQIIIIQI", b"WEFT", 1, 1, back, 0x1122334455667788, 9, 17, 3, 0x01020304, 123456789, 0)
    common = struct.pack(">BBBBHHIIHHI", 1, 0x33, 1, 3, 0, 0, 0, 0x01020304, 0x51, 0, 0)
    vendor = bytes(13) + b"wef"
    data = head + siphash(key, head + gids + struct.pack(">H", label)) + gids + struct.pack(">H", label)
    return struct.pack(">HHHH", 0, label, 0, 0) + (common + vendor + data).ljust(256, b"\0")


def datagram(source, destination, label, back, size):
    key = bytes(range(16))
    source, destination = ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed
    gid = lambda address: address if len(address) == 16 else bytes(10) + b"\xff\xff" + address
    head = struct.pack(">4sBBHQIIIIQI", b"WEFT", 1, 1, back, 0x1122334455667788, 9, 17, 3, 0x01020304, 123456789, 0)
    envelope = source.ljust(16, b"\0") + destination.ljust(16, b"\0") + struct.pack(">H", label)
    payload = head + siphash(key, head + envelope) + gid(source) + gid(destination) + struct.pack(">H", label)
    return payload.ljust(size, b"\0")


if __name__ == "__main__":
    assert siphash(bytes(range(16)), bytes(range(15))) == bytes.fromhex("e545be4961ca29a1"), "SipHash paper, appendix A"
    print(probe("10.0.0.1", "10.0.0.2", 128).hex())
    print(probe("fd00::1", "fd00::2", 128).hex())
    print(mad("fe80::2:c903:0:1", "fe80::2:c903:0:2", 0x12, 0x21).hex())
    print(datagram("10.0.0.1", "10.0.0.2", 50001, 50002, 88).hex())

#!/usr/bin/env python3
"""libweft-nccl.so in real NCCL jobs on one GPU: two processes that NCCL takes for two hosts, over sockets of the loopback.

    tests/gpu/nccl_job.py LIBRARY OUT_DIRECTORY

Needs PyTorch with CUDA and one GPU; without either it says why and ends with 77. All runs are bounded: eight minutes at most.
Prints a line for each check and one with the times; exit status 1 where a check failed. OUT_DIRECTORY keeps NCCL's logs, what
the profiler wrote, and results.json."""
import ctypes
import json
import os
import re
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

SIZES = [1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
RUN_LIMIT = 75  # seconds
ALL_LIMIT = 430


# ---- in a rank


def mapped_file(address):
    """The file whose mapping holds an address of this process."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if first <= address < last:
                return (line.split() + [""] * 6)[5]
    return ""


def owner_of_dlvsym():
    """Whose dlvsym libnccl calls: its slot for the call, found by the relocations of its dynamic section (ELF, x86-64)."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        lines = [line.split() for line in maps if "libnccl.so" in line]
    if not lines:
        return "libnccl is linked into another library"
    base = int(lines[0][0].split("-")[0], 16)
    read = lambda at, size: ctypes.string_at(base + at, size)
    headers_at, = struct.unpack("<Q", read(32, 8))
    entry_size, count = struct.unpack("<HH", read(54, 4))
    dynamic_at = next(struct.unpack("<Q", read(headers_at + i * entry_size + 16, 8))[0] for i in range(count)
                      if struct.unpack("<I", read(headers_at + i * entry_size, 4))[0] == 2)
    tags = {}
    while True:
        tag, value = struct.unpack("<QQ", read(dynamic_at, 16))
        if tag == 0:
            break
        tags[tag] = value - base if value >= base else value
        dynamic_at += 16
    strings, symbols = tags[5], tags[6]
    for table, size in ((tags.get(23), tags.get(2, 0)), (tags.get(7), tags.get(8, 0))):
        for at in range(table or 0, (table or 0) + size, 24):
            slot, info = struct.unpack("<QQ", read(at, 16))
            if info >> 32 == 0:
                continue
            name_at, = struct.unpack("<I", read(symbols + (info >> 32) * 24, 4))
            if read(strings + name_at, 7) == b"dlvsym\0":
                return mapped_file(struct.unpack("<Q", read(slot, 8))[0])
    return "no slot"


def timed_sums(torch, distributed, rank):
    """Microseconds of an all-reduce by size, and how many gave something else than the sum."""
    times, wrong = {}, 0
    for size in SIZES:
        values = torch.empty(size // 4, device="cuda")
        took = []
        for turn in range(4 if size >= 16 << 20 else 12):
            values.fill_(rank + 1 + turn)
            torch.cuda.synchronize()
            start = time.perf_counter()
            distributed.all_reduce(values)
            torch.cuda.synchronize()
            took.append((time.perf_counter() - start) * 1e6)
            wrong += int((values != 3 + 2 * turn).sum().item() != 0)
        times[size] = statistics.median(took[1:])
    return times, wrong


def other_collectives(torch, distributed, rank):
    """How many of gather, scatter, broadcast, send and receive gave something wrong."""
    wrong = 0
    part = torch.full((65536,), float(rank + 1), device="cuda")
    both = torch.empty(131072, device="cuda")
    distributed.all_gather_into_tensor(both, part)
    wrong += int((both[:65536] != 1).any().item() or (both[65536:] != 2).any().item())
    both.fill_(rank + 1)
    distributed.reduce_scatter_tensor(part, both)
    wrong += int((part != 3).any().item())
    part.fill_(rank + 1)
    distributed.broadcast(part, 1)
    wrong += int((part != 2).any().item())
    if rank == 0:
        distributed.send(part * 3, 1)
    else:
        distributed.recv(part, 0)
        wrong += int((part != 6).any().item())
    torch.cuda.synchronize()
    return wrong


def be_rank(kind):
    import torch
    import torch.distributed as distributed

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl", device_id=torch.device("cuda", 0))
    if kind == "endless":
        values = torch.ones(16 << 20, device="cuda")
        distributed.all_reduce(values)
        torch.cuda.synchronize()
        print(json.dumps({"ready": True}), flush=True)
        while True:
            distributed.all_reduce(values)
            torch.cuda.synchronize()
    times, wrong = timed_sums(torch, distributed, rank)
    wrong += other_collectives(torch, distributed, rank)
    told = {"rank": rank, "times": times, "wrong": wrong, "dlvsym": owner_of_dlvsym(),
            "nccl": ".".join(map(str, torch.cuda.nccl.version())), "torch": torch.__version__,
            "gpu": torch.cuda.get_device_name(0)}
    distributed.destroy_process_group()
    print(json.dumps(told), flush=True)


# ---- the runs


def checksum(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


def tuner_table(epoch, rows):
    """As balancer/steer/tuner_table.cpp writes it."""
    text = f"weft-tuner/1:{epoch}:" + "".join(row + ":" for row in rows)
    return f"{text}{checksum(text):016x}"


class Job:
    """Two ranks of one run; their files stand in a directory of its own."""

    def __init__(self, library, out, name, settings, kind="sums", debug="WARN"):
        self.name, self.kind = name, kind
        self.directory = os.path.join(out, name)
        os.makedirs(self.directory, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.ranks = []
        for rank in range(2):
            environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("NCCL_", "WEFT_", "LD_PRELOAD"))}
            environment |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                            "NCCL_HOSTID": f"weft-host-{rank}", "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo",
                            "NCCL_DEBUG": debug, "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING,NET",
                            "NCCL_DEBUG_FILE": os.path.join(self.directory, f"nccl.{rank}.log"),
                            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "30"}
            environment |= {name: value.format(library=library, dir=self.directory) for name, value in settings.items()}
            error = open(os.path.join(self.directory, f"stderr.{rank}"), "w", encoding="utf-8")
            self.ranks.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), "rank", kind], env=environment,
                                               stdout=subprocess.PIPE, stderr=error, text=True))

    def finish(self, limit=RUN_LIMIT):
        """What the ranks said, and their exit statuses; "hangs" for one that had to be killed."""
        said, statuses = [], []
        until = time.monotonic() + limit
        for process in self.ranks:
            try:
                output, _ = process.communicate(timeout=max(until - time.monotonic(), 1))
                statuses.append(process.returncode)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
                statuses.append("hangs")
            lines = [line for line in output.splitlines() if line.startswith("{")]
            said.append(json.loads(lines[-1]) if lines else {})
        return said, statuses

    def log(self):
        text = ""
        for rank in range(2):
            for name in (f"nccl.{rank}.log", f"stderr.{rank}"):
                path = os.path.join(self.directory, name)
                if os.path.exists(path):
                    with open(path, encoding="utf-8", errors="replace") as file:
                        text += file.read()
        return text

    def profile(self):
        """Records of all ranks, by rank."""
        found = {}
        for name in sorted(os.listdir(self.directory)):
            if not name.endswith(".profile.jsonl"):
                continue
            with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
            ranks = {record["rank"] for record in records if "schema" in record}
            for rank in ranks:
                found[rank] = records
        return found


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, holds, text, seen=""):
        self.failed += not holds
        print(("ok    " if holds else "FAILED  ") + text + (f": {seen}" if seen != "" else ""), flush=True)


PLUGINS = {"NCCL_ENV_PLUGIN": "{library}", "NCCL_TUNER_PLUGIN": "{library}", "NCCL_PROFILER_PLUGIN": "{library}",
           "WEFT_NCCL_DIR": "{dir}", "WEFT_NCCL_PROFILE": "16"}
PRELOADED = {**PLUGINS, "LD_PRELOAD": "{library}"}
del PRELOADED["NCCL_ENV_PLUGIN"]


def healthy(check, job, said, statuses):
    check(statuses == [0, 0], f"{job.name}: both ranks end by themselves", statuses)
    check([told.get("wrong") for told in said] == [0, 0], f"{job.name}: every collective gives the right values",
          [told.get("wrong") for told in said])


def chosen_algorithms(records):
    """Of all-reduces, by bytes: (algorithm, protocol, channels)."""
    return {record["count"] * 4: (record["algorithm"], record["protocol"], record["channels"])
            for record in records if record.get("function") == "AllReduce"}


def check_profile(check, job):
    profile = job.profile()
    check(sorted(profile) == [0, 1], f"{job.name}: both ranks wrote what they saw", sorted(profile))
    for rank, records in profile.items():
        size_of = {record["collective"]: record["count"] * 4 for record in records
                   if record.get("function") == "AllReduce"}
        moved = {}
        for record in records:
            if record.get("sends") and record.get("operation") in size_of:
                moved[record["operation"]] = moved.get(record["operation"], 0) + record["bytes"]
        # A ring of two sends each byte once, a tree up or down once; the protocol LL doubles it.
        ratios = [moved[serial] / size for serial, size in size_of.items() if serial in moved]
        check(len(moved) == len(size_of) > 0, f"{job.name}: rank {rank}: proxy steps of every all-reduce",
              f"{len(moved)} of {len(size_of)}")
        check(all(.45 <= ratio <= 2.6 for ratio in ratios), f"{job.name}: rank {rank}: bytes sent over bytes reduced",
              sorted({round(ratio, 2) for ratio in ratios}))
        operations = [record for record in records if "operation" in record]
        check(all(record["peer"] == 1 - rank for record in operations), f"{job.name}: rank {rank}: peers are right")
        waits = {name: round(sum(record.get(name, 0) for record in operations) / 1e6, 1)
                 for name in ("gpu_ns", "peer_ns", "network_ns", "data_ns", "flush_ns")}
        check(waits["gpu_ns"] > 0 and waits["data_ns"] > 0, f"{job.name}: rank {rank}: waits in ms", waits)


def check_tuner(check, job, expected):
    for rank, records in job.profile().items():
        seen = chosen_algorithms(records)
        for size in SIZES:
            check(seen.get(size) == expected(size), f"{job.name}: rank {rank}: {size} bytes by {expected(size)}",
                  seen.get(size))


def run_tuned(library, out, check):
    """Two tables that choose otherwise: what NCCL takes follows them."""
    tables = {
        "tuner_small_tree": (tuner_table(1, ["all_reduce/2/2/65536/tree/ll/1", "all_reduce/2/2/1048576/ring/ll/1",
                                             "all_reduce/2/2/1073741824/ring/simple/2"]),
                             lambda size: ("TREE", "LL", 1) if size <= 65536 else
                             ("RING", "LL", 1) if size <= 1048576 else ("RING", "SIMPLE", 2)),
        "tuner_small_ring": (tuner_table(2, ["all_reduce/2/2/1048576/ring/simple/1",
                                             "all_reduce/2/2/1073741824/tree/simple/1"]),
                             lambda size: ("RING", "SIMPLE", 1) if size <= 1048576 else ("TREE", "SIMPLE", 1)),
    }
    for name, (table, expected) in tables.items():
        job = Job(library, out, name, {**PLUGINS, "WEFT_NCCL_TUNER": table, "WEFT_NCCL_PROFILE": "1"}, debug="INFO")
        healthy(check, job, *job.finish())
        log = job.log()
        for what in ("TUNER/Plugin: Using weft (v5)", "PROFILER/Plugin: Loaded weft (v5)", "weft: tuner table of epoch"):
            check(log.count(what) >= 2, f"{name}: NCCL's log says \"{what}\"", log.count(what))
        check_profile(check, job)
        check_tuner(check, job, expected)


def run_refused(library, out, check):
    """A table that was changed, and one that asks for what NCCL cannot do here: NCCL decides by itself."""
    changed = tuner_table(3, ["all_reduce/2/2/65536/tree/ll/1"]).replace("65536", "65537")
    for name, table in (("tuner_changed", changed), ("tuner_impossible", tuner_table(4, [
            "all_reduce/2/2/1073741824/nvls/simple/0"])), ("tuner_many_channels", tuner_table(5, [
            "all_reduce/2/2/1073741824/ring/simple/64"]))):
        job = Job(library, out, name, {**PLUGINS, "WEFT_NCCL_TUNER": table, "WEFT_NCCL_PROFILE": "1"}, debug="INFO")
        healthy(check, job, *job.finish())
        says = re.findall(r"weft: [^\n]*", job.log())
        seen = {rank: sorted(set(chosen_algorithms(records).values())) for rank, records in job.profile().items()}
        check(seen.get(0) == seen.get(1) and bool(seen), f"{name}: both ranks take the same", seen.get(0))
        if name == "tuner_changed":
            check(sum("is not taken" in line for line in says) == 2, f"{name}: refused in one line", says[:1])


def first_line(process):
    """Empty: none within the limit."""
    is_there, _, _ = select.select([process.stdout], [], [], RUN_LIMIT)
    return process.stdout.readline() if is_there else ""


def run_killed(library, out, check):
    """One rank is killed within a collective: the other ends as it does without the library."""
    ends = {}
    for name, settings in (("killed_plain", {}), ("killed_plugins", PLUGINS), ("killed_preload", PRELOADED)):
        job = Job(library, out, name, settings, kind="endless")
        ready = [first_line(process) for process in job.ranks]
        time.sleep(1.5)
        job.ranks[1].send_signal(signal.SIGKILL)
        _, statuses = job.finish(60)
        check(all("ready" in line for line in ready), f"{name}: both ranks were at work", ready)
        ends[name] = statuses[0]
        check(statuses[0] not in ("hangs", -signal.SIGSEGV, -signal.SIGBUS, 0), f"{name}: the other rank ends",
              statuses[0])
    check(len(set(ends.values())) == 1, "killed: it ends as without the library", ends)


def run_timed(library, out, check):
    """Alternating; the median of the runs' medians by size, microseconds."""
    kinds = {"plain": {}, "plugins": PLUGINS, "preload": PRELOADED}
    times = {kind: {size: [] for size in SIZES} for kind in kinds}
    for turn in range(2):
        for kind, settings in kinds.items():
            job = Job(library, out, f"{kind}_{turn}", settings)
            said, statuses = job.finish()
            healthy(check, job, said, statuses)
            if turn == 0:
                owners = [os.path.basename(told.get("dlvsym", "")) for told in said]
                wanted = "libc" if kind == "plain" else "libweft-nccl.so"
                check(all(owner.startswith(wanted) for owner in owners), f"{kind}: dlvsym of libnccl is {wanted}'s",
                      owners)
                print("     ", {name: said[0].get(name) for name in ("gpu", "torch", "nccl")}, flush=True)
            for size, took in said[0].get("times", {}).items():
                times[kind][int(size)].append(took)
    return {kind: {size: round(statistics.median(took), 1) for size, took in by_size.items() if took}
            for kind, by_size in times.items()}


def main(library, out):
    try:
        import torch
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        return 77
    library, out = os.path.abspath(library), os.path.abspath(out)
    try:
        ctypes.CDLL(library)
    except OSError as error:
        print(f"FAILED  the library cannot be loaded: {error}")
        return 1
    check, start, times = Checks(), time.monotonic(), {}
    for part in (run_timed, run_tuned, run_killed, run_refused):
        if time.monotonic() - start > ALL_LIMIT - 2 * RUN_LIMIT:
            check(False, f"{part.__name__}: no time left")
            continue
        times = part(library, out, check) or times
    print("times", json.dumps(times))
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"failed": check.failed, "all_reduce_us": times}, file)
    print(f"{check.failed} checks failed, {time.monotonic() - start:.0f} s")
    return 1 if check.failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "rank":
        be_rank(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1], sys.argv[2]))

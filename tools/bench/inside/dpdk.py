# SPDX-License-Identifier: GPL-2.0
"""
DPDK's testpmd as the guest, for native.py: virtio-user polls its rings, and sends or receives as
fast as it can; selftests/perf/peer.c looks at its tap and at the worker. Without huge pages, which
User-Mode Linux has not.
"""

import os
import re
import subprocess

import host

DPDK = "/kvnet/dpdk"
LIBS = f"{DPDK}/usr/lib/x86_64-linux-gnu"
TAP = "dpdk0"
LOG = "/tmp/testpmd.log"


class Testpmd:
    def __init__(self, backend, node, layout, way, size):
        self.way, self.vectorized = way, backend.endswith("-vectorized")
        self.program = subprocess.Popen(  # pylint: disable=consider-using-with
            self.words(node, layout, size), stdin=subprocess.PIPE, stdout=open(LOG, "w", encoding="utf-8"),
            stderr=subprocess.STDOUT, text=True,
            # its words, line by line
            env={**os.environ, "LD_PRELOAD": "/usr/libexec/coreutils/libstdbuf.so", "_STDBUF_O": "L",
                 "LD_LIBRARY_PATH": f"{LIBS}:{DPDK}/lib/x86_64-linux-gnu"})

    def words(self, node, layout, size):
        """One lcore commands, one forwards, both on the only CPU."""
        rings = f"packed_vq={int('packed' in layout)},in_order={int('in_order' in layout)}"
        if self.vectorized:
            rings += ",mrg_rxbuf=0,vectorized=1"
        mode = ["--forward-mode=txonly", f"--txpkts={size}"] if self.way == "tx" else ["--forward-mode=rxonly"]
        plugins = [word for name in ("bus_vdev", "net_virtio", "mempool_ring") for word in ("-d", f"{LIBS}/librte_{name}.so.23")]
        return [f"{DPDK}/usr/bin/dpdk-testpmd", "--no-pci", "--no-telemetry", "--no-huge", "-m", "128", "--lcores", "0@0,1@0",
                *plugins, "--force-max-simd-bitwidth=512", "--log-level=pmd.net.virtio.init:info",
                f"--vdev=net_virtio_user0,path={node},iface={TAP},queue_size=1024,{rings}", "--",
                "-i", *mode, "--auto-start", "--total-num-mbufs=8192", "--nb-cores=1"]

    def is_ready(self):
        """It sends already, or it has offered buffers."""
        if not os.path.exists(f"/sys/class/net/{TAP}") or subprocess.call(("ip", "link", "set", TAP, "up")):
            return False
        if self.way == "tx":
            return int(host.text_of(f"/sys/class/net/{TAP}/statistics/rx_packets")) > 10000
        return re.search("^rxonly packet forwarding", host.text_of(LOG), re.M)

    def goes_the_vectorized_way(self):
        """It says so itself, of both directions."""
        return len(re.findall("using packed ring vectorized [RT]x path", host.text_of(LOG))) >= 2

    def has_received(self, number):
        """By its own count. It may still have to take the last ones: peer.c has only seen them leave the tap."""
        print("show fwd stats all", file=self.program.stdin, flush=True)
        counts = re.findall(r"RX-total: *(\d+)", host.text_of(LOG))
        return counts and int(counts[-1]) >= number

    def sample(self, run):
        """run: the program that measures, with variables."""
        if not host.wait_until(180, self.is_ready):
            return 1, "testpmd is not ready"
        if self.vectorized and not self.goes_the_vectorized_way():
            return 1, "testpmd does not go the vectorized way"
        status, said = run("/kvnet/lab", "peer", PEER_PID=str(self.program.pid), PEER_TAP=TAP,
                           BENCH_MS=str(5 * int(os.environ["BENCH_MS"])))
        if status == 0 and self.way == "rx":
            sent = re.search(r"^@sent (\d+)", said, re.M)
            if not sent or not host.wait_until(60, lambda: self.has_received(int(sent[1]))):
                return 1, f"{said}\ntestpmd did not get all packets"
        return status, said


def sample(run, backend, node, layout, words):
    """Status and output of one; words: "... dir=D size=N ..."."""
    params = dict(word.split("=") for word in words.split())
    os.makedirs("/run", exist_ok=True)
    os.makedirs("/var/run", exist_ok=True)
    testpmd = Testpmd(backend, node, layout, params["dir"], params["size"])
    try:
        status, said = testpmd.sample(run)
    finally:
        # its own end, by SIGTERM, can wait for the next command for ever
        testpmd.program.kill()
        testpmd.program.wait()
    if status:
        said += "\n" + "\n".join(host.text_of(LOG).splitlines()[-12:])
    return status, said

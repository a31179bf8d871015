# SPDX-License-Identifier: GPL-2.0
"""The kernel's netlink tool on kvnet's family: ynl.py TOOL SPECIFICATION SCHEMA"""

import fcntl
import json
import os
import subprocess
import sys

TOOL, SPEC, SCHEMA = sys.argv[1:4]
SET_OWNER = 0xaf01
COUNTS = {"passed": 0, "failed": 0}


class Refused(Exception):
    pass


def ynl(*args):
    """What the tool prints, as it was before it became JSON."""
    done = subprocess.run([sys.executable, "-B", f"{TOOL}/cli.py", "--spec", SPEC, "--schema", SCHEMA, "--output-json", *args],
                          capture_output=True, check=False, encoding="utf-8", timeout=60)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise Refused((done.stdout + done.stderr).strip()) from None


def do(name, **attributes):
    return ynl("--do", name, "--json", json.dumps(attributes))


def dump(name):
    return ynl("--dump", name)


def test(name):
    def run(function):
        try:
            function()
            word = "passed"
        except (AssertionError, KeyError, Refused) as error:
            print("#", str(error).replace("\n", "\n# ") or repr(error))
            word = "failed"
        COUNTS[word] += 1
        print("ok" if word == "passed" else "not ok", "-", "ynl:", name, flush=True)
    return run


def device():
    found = [entry for entry in dump("dev-get") if entry["owner-pid"] == os.getpid()]
    assert len(found) == 1, found
    return found[0]


def main():
    file = os.open("/dev/kvnet", os.O_RDWR)
    fcntl.ioctl(file, SET_OWNER)

    @test("it reads the specification")
    def _():
        said = subprocess.run([sys.executable, "-B", f"{TOOL}/cli.py", "--spec", SPEC, "--schema", SCHEMA, "--list-ops"],
                              capture_output=True, check=False, encoding="utf-8", timeout=60)
        words = said.stdout.split()
        assert all(name in words for name in ("dev-get", "dev-set", "queue-get", "worker-get")), said.stdout + said.stderr

    @test("devices")
    def _():
        mine = device()
        assert mine["owner-comm"] and mine["policy"]["poll-us"] == 50, mine
        assert do("dev-get", id=mine["id"]) == mine

    @test("queues, with counters by name")
    def _():
        mine = [queue for queue in dump("queue-get") if queue["dev"] == device()["id"]]
        assert [queue["index"] for queue in mine] == [0, 1] and mine[0]["state"] == "stopped", mine
        assert {"packets", "drop_tap"} <= {counter["name"] for counter in mine[0]["counters"]}, mine

    @test("workers")
    def _():
        mine = [worker for worker in dump("worker-get") if worker["dev"] == device()["id"]]
        assert [(worker["index"], worker["queues"]) for worker in mine] == [(0, [0]), (1, [1])], mine
        assert all(worker["tid"] > 0 for worker in mine), mine

    @test("a policy is set")
    def _():
        do("dev-set", id=device()["id"], policy={"poll-us": 7, "rx-direct": 0, "shortcut": 0})
        policy = device()["policy"]
        assert (policy["poll-us"], policy["rx-direct"], policy["shortcut"]) == (7, 0, 0), policy

    @test("a policy that makes no sense is refused, with the reason")
    def _():
        try:
            do("dev-set", id=device()["id"], policy={"rx-direct": 2})
        except Refused as error:
            assert ".policy.rx-direct" in str(error) and "out of range" in str(error), error
        else:
            raise AssertionError("it was taken")

    @test("events")
    def _():
        sys.path.insert(0, TOOL)
        from lib import YnlFamily	# pylint: disable=import-error,import-outside-toplevel
        family = YnlFamily(SPEC, SCHEMA)
        family.ntf_subscribe("events")
        other = os.open("/dev/kvnet", os.O_RDWR)
        fcntl.ioctl(other, SET_OWNER)
        names = []
        while "workers-start-ntf" not in names:
            family.check_ntf()
            names = [event["name"] for event in family.async_msg_queue]
        os.close(other)
        family.check_ntf()
        names = [event["name"] for event in family.async_msg_queue]
        assert names == ["dev-add-ntf", "workers-start-ntf", "dev-del-ntf"], names

    os.close(file)
    print(f"{COUNTS['passed']} passed, {COUNTS['failed']} failed, 0 skipped")
    return 1 if COUNTS["failed"] else 0


sys.exit(main())

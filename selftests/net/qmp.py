#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends one command to a QEMU and prints what it returns: JSON, or text as it is.

    qmp.py SOCKET COMMAND [NAME=VALUE...]

A value is JSON, or else a string. Exit status 1: QEMU refuses the command, or does not answer.
"""
import json
import socket
import sys

SECONDS = 20


def argument(word):
    name, _, value = word.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def reply(stream):
    """The next message that is no event."""
    while True:
        line = stream.readline()
        if not line:
            raise ConnectionError("QEMU has closed the connection")
        message = json.loads(line)
        if "event" not in message:
            return message


def call(path, command, arguments):
    """What QEMU answers: an object with "return" or "error"."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(SECONDS)
        sock.connect(path)
        with sock.makefile("rw") as stream:
            answer = reply(stream)    # the greeting
            for request in ({"execute": "qmp_capabilities"},
                            {"execute": command, "arguments": arguments}):
                stream.write(json.dumps(request) + "\n")
                stream.flush()
                answer = reply(stream)
            return answer


def main(path, command, *words):
    try:
        answer = call(path, command, dict(map(argument, words)))
    except (OSError, ValueError) as error:
        sys.exit(f"qmp: {command}: {error}")
    if "error" in answer:
        sys.exit(f"qmp: {command}: {answer['error']['desc']}")
    result = answer["return"]
    if isinstance(result, str):
        print(result.replace("\r", ""), end="")
    elif result:
        print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])

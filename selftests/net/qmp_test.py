#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of qmp.py, against a server that says what QEMU says."""
import contextlib
import io
import json
import os
import socket
import tempfile
import threading
import unittest

import qmp


class Qmp(unittest.TestCase):
    def run_command(self, *words, answers=()):
        """What qmp.py prints, and what the server was asked."""
        asked = []

        def serve():
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as stream:
                stream.write('{"QMP": {}}\n')
                for answer in ({"return": {}}, *answers):
                    stream.flush()
                    if "event" not in answer:
                        asked.append(json.loads(stream.readline()))
                    stream.write(json.dumps(answer) + "\n")

        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            path = os.path.join(folder, "qmp")
            server.bind(path)
            server.listen()
            thread = threading.Thread(target=serve)
            thread.start()
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(said):
                    qmp.main(path, *words)
            finally:
                thread.join()
        return said.getvalue(), asked

    def test_arguments_json_or_string(self):
        _, asked = self.run_command("set_link", "name=nic0", "up=false", answers=[{"return": {}}])
        self.assertEqual(asked, [
            {"execute": "qmp_capabilities"},
            {"execute": "set_link", "arguments": {"name": "nic0", "up": False}}])

    def test_result_object_printed_as_json(self):
        said, _ = self.run_command("query-status", answers=[{"return": {"status": "paused"}}])
        self.assertEqual(json.loads(said), {"status": "paused"})

    def test_result_text_printed_as_it_is(self):
        said, _ = self.run_command("hmp", answers=[{"return": "RAX=1\r\nRIP=2\r\n"}])
        self.assertEqual(said, "RAX=1\nRIP=2\n")

    def test_result_empty_prints_nothing(self):
        self.assertEqual(self.run_command("stop", answers=[{"return": {}}])[0], "")

    def test_event_before_the_answer_passed_over(self):
        said, _ = self.run_command("stop", answers=[{"event": "STOP"}, {"return": [1]}])
        self.assertEqual(said, "[1]\n")

    def test_error_ends_with_its_description(self):
        with self.assertRaisesRegex(SystemExit, "qmp: cont: no such thing"):
            self.run_command("cont", answers=[{"error": {"desc": "no such thing"}}])

    def test_connection_closed_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "qmp: quit: .*(has closed|Broken pipe|reset)"):
            self.run_command("quit")

    def test_socket_absent_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "qmp: stop: .*No such file"):
            qmp.main("/nonexistent/qmp", "stop")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the check of layers: python3 scripts/test_layers.py"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import layers  # noqa: E402  pylint: disable=wrong-import-position


def found(defined=None, uses=None, includes=(), headers=None):
    return list(layers.findings(defined or {}, uses or {}, set(includes), headers or {}))


class Folders(unittest.TestCase):
    def test_downwards_is_allowed(self):
        for user, used in (("main", "ctl/dev"), ("ctl/dev", "nl/netlink"), ("net/rx", "kvnet"), ("kvnet", "vq/vq"), ("vq/vq", "worker/thread"),
                           ("tap/tap", "features"), ("vq/vq", "mem/xlate"), ("mem/iotlb", "obs/trace"), ("vq/ring_split", "vq/chain")):
            self.assertTrue(layers.is_below(user, used), (user, used))

    def test_upwards_and_across_is_refused(self):
        for user, used in (("ctl/dev", "main"), ("net/rx", "ctl/dev"), ("nl/netlink", "net/rx"), ("worker/work", "vq/vq"), ("tap/tap", "vq/vq"),
                           ("worker/work", "tap/tap"), ("mem/xlate", "vq/ring"), ("mem/xlate", "features"), ("obs/trace", "mem/iotlb"),
                           ("net/rx", "net/tx"), ("net/tx", "net/rx_inline"), ("vq/vq", "new/file"), ("new/file", "mem/area")):
            self.assertFalse(layers.is_below(user, used), (user, used))


class Findings(unittest.TestCase):
    def test_symbol_of_a_folder_above(self):
        self.assertEqual(found({"kvnet_vq_end": "vq/vq"}, {"worker/work": {"kvnet_vq_end", "mutex_lock"}}), ["worker/work > vq/vq: kvnet_vq_end"])

    def test_header_of_a_folder_above(self):
        self.assertEqual(found(includes=[("mem/xlate", "vq/ring"), ("vq/vq", "mem/xlate")]), ["mem/xlate > vq/ring: ring.h"])

    def test_parameters_are_below_all(self):
        self.assertEqual(found({"kvnet_param_poll_us": "main"}, {"ctl/dev": {"kvnet_param_poll_us"}, "mem/area": set()}), [])

    def test_circle_through_others(self):
        defined = {"kvnet_a_do": "vq/a", "kvnet_b_do": "vq/b", "kvnet_c_do": "vq/c", "kvnet_d_do": "vq/d"}
        uses = {"vq/a": {"kvnet_b_do"}, "vq/b": {"kvnet_c_do", "kvnet_d_do"}, "vq/c": {"kvnet_a_do"}}
        self.assertEqual(found(defined, uses), ["circle: vq/a vq/b vq/c"])

    def test_prefix_only_of_what_crosses_a_file(self):
        defined = {"kvnet_ring_put": "vq/ring_split", "kvnet_own": "vq/ring_split", "__tracepoint_kvnet_poll": "obs/trace"}
        self.assertEqual(found(defined, {"vq/vq": {"kvnet_ring_put", "__tracepoint_kvnet_poll"}}), ["prefix vq/ring_split: kvnet_ring_put"])

    def test_header_of_another_file(self):
        defined = {"kvnet_vq_end": "vq/vq", "kvnet_vq_pop": "vq/vq_pop"}
        names = {"kvnet_vq_end", "kvnet_vq_pop", "kvnet_vq"}
        self.assertEqual(found(defined, headers={"vq/vq": names, "kvnet": names}), ["header vq/vq: kvnet_vq_pop"])


class Declared(unittest.TestCase):
    def test_what_counts(self):
        text = """
/* see kvnet_comment() */
#define SAY(x) \\
	kvnet_macro(x)
struct kvnet_vq { int (*run)(struct kvnet_field *); };
extern const struct kvnet_ops kvnet_tx_ops;
int kvnet_vq_begin(struct kvnet_vq *vq,
		   struct kvnet_arg *arg);

static inline bool kvnet_vq_is_on(struct kvnet_vq *vq)
{
	if (vq) {
		kvnet_called(vq);
	}
}

void kvnet_vq_end(struct kvnet_vq *vq) __must_hold(&vq->lock);
"""
        names = layers.declared(text)
        self.assertLessEqual({"kvnet_tx_ops", "kvnet_vq_begin", "kvnet_vq_end"}, names)
        self.assertFalse({"kvnet_comment", "kvnet_macro", "kvnet_field", "kvnet_called", "kvnet_vq_is_on"} & names)


class Judge(unittest.TestCase):
    def test_allowed_and_not_needed(self):
        allowed = [(r"net/rx(_inline)? > ctl/dev: .*", "why"), (r"circle: a b", "why")]
        self.assertEqual(list(layers.judge(["net/rx > ctl/dev: f", "circle: a b c"], allowed)), ["circle: a b c", 'layers.list: nothing needs "circle: a b"'])


if __name__ == "__main__":
    unittest.main()

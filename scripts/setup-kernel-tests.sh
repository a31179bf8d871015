# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For setup.sh: the newest kernel's own tests of network drivers and of taps, for test_kernel.sh
# and test_tap.sh of selftests/net, built; they lie in the cache entry kernel-tests as they lie in
# its source.

# what they are built with, and what they call
# shellcheck disable=SC2034 # for setup.sh
KERNEL_TESTS_PACKAGES="clang libbpf-dev python3-yaml bpftool iperf3 socat"
KERNEL_TESTS="tools/testing/selftests/drivers/net tools/testing/selftests/net/lib tools/testing/selftests/kselftest.h
tools/net/ynl/pyynl Documentation/netlink/specs"
TAP_TESTS="tools/testing/selftests/net/tun.c tools/testing/selftests/net/tap.c tools/testing/selftests/net/tuntap_helpers.h
tools/testing/selftests/kselftest_harness.h tools/net/ynl/lib tools/net/ynl/generated tools/net/ynl/Makefile.deps
Documentation/netlink/netlink-raw.yaml"
# what vhost_net_test is built from
VHOST_NET_TEST="tools/virtio tools/include drivers/virtio/virtio_ring.c include/linux include/uapi"

# Debian 12's ethtool prints neither channels nor rings nor coalescing as JSON, of which the tests read
# a number of channels, the size of a ring, and a time that virtio_net does not tell.
make_ethtool()
{
	mkdir "$ENTRY/bin"
	cat > "$ENTRY/bin/ethtool" <<-'END'
	#!/bin/sh
	case "$1 $2" in
	"--json -l") /usr/sbin/ethtool -l "$3" | awk '/^Combined:/ { n = $2 } END { printf "[{\"combined\": %d}]\n", n }' ;;
	"--json -g") /usr/sbin/ethtool -g "$3" | awk '/^RX:/ { n = $2 } END { printf "[{\"rx\": %d}]\n", n }' ;;
	"--json -c") echo '[{}]' ;;
	*) exec /usr/sbin/ethtool "$@" ;;
	esac
	END
	chmod +x "$ENTRY/bin/ethtool"
}

# tun speaks netlink by code that the kernel's tool makes from specifications. MAINTAINERS marks
# the root of a source.
build_tap_tests()
{
	local ynl=$ENTRY/tools/net/ynl

	touch "$ENTRY/MAINTAINERS"
	PATH=/usr/bin:/bin make -s -C "$ynl/lib" &&
		PATH=/usr/bin:/bin make -s -C "$ynl/generated" GENS="rt-addr rt-link rt-neigh rt-route" protos.a || return
	cd "$ENTRY/tools/testing/selftests/net" || return
	gcc -O2 -w -I.. -o tap tap.c &&
		gcc -O2 -w -I.. -I"$ynl/lib" -I"$ynl/generated" -I"$ENTRY/include/uapi" -idirafter "$ENTRY/tools/include" \
			-o tun tun.c "$ynl/lib/ynl.a" "$ynl/generated/protos.a"
}

build_kernel_tests()
{
	local file

	cd "$ENTRY/tools/testing/selftests/net/lib" || return
	# the time in which gro sends the frames of a case: an emulated CPU needs more
	sed -i 's/^\(#define TXTIME_DELAY_MS\) 5$/\1 50/' gro.c
	# an answer may take longer, too; and the link of virtio_net stays up when XDP comes
	sed -i 's/-W0\.5/-W5/; s/^no_sleep=False$/no_sleep=True/' ../../drivers/net/ping.py
	# socat ends with the datagram, not two seconds later, and waits longer for it. Of a frame
	# whose head or tail moves, the first and the last size and distance: each takes six programs.
	sed -i 's/"\(socat .*\) -T 2 -u UDP-RECV:\({port},reuseport STDOUT\)"/"timeout 12 \1 -u UDP-RECVFROM:\2 || :"/
		s/bkg(rx_udp_cmd, exit_wait=True)/bkg(rx_udp_cmd, exit_wait=True, shell=True)/
		s/_lst = \[\([^,]*\), .*, \([^,]*\)\]/_lst = [\1, \2]/' ../../drivers/net/xdp.py
	# until a program listens, and is seen to do so
	sed -i '/^def wait_port_listen/s/deadline=5/deadline=30/' py/utils.py
	for file in csum gro xdp_helper ../../drivers/net/napi_id_helper; do
		gcc -O2 -I../.. -o "$file" "$file.c" || return
	done
	for file in *.bpf.c; do
		clang -O2 -g --target=bpf -idirafter /usr/include/x86_64-linux-gnu -c "$file" -o "${file%.c}.o" || return
	done
	build_tap_tests || return
	cd "$ENTRY/tools/virtio" || return
	# which its own headers name, and do not have
	ln -s "$ENTRY/include/linux/device-id" linux/device-id
	gcc -O2 -w -pthread -I. -I../include -fno-strict-aliasing -include ../../include/linux/kconfig.h \
		-o "$ENTRY/vhost_net_test" vhost_net_test.c ../../drivers/virtio/virtio_ring.c
}

# unpack_kernel_tests DEB
unpack_kernel_tests()
{
	local deb=$1 series wanted

	entry_needed kernel-tests "${deb##*/} $(sha256sum < "${BASH_SOURCE[0]}")" || return 0
	info "unpacking and building the kernel's tests of network drivers"
	series=${deb##*/}
	series=${series%%_*}
	# shellcheck disable=SC2086 # lists of words
	readarray -t wanted < <(printf "$series/%s\n" $KERNEL_TESTS $TAP_TESTS $VHOST_NET_TEST)
	dpkg --fsys-tarfile "$deb" | tar -xO "./usr/src/$series.tar.xz" |
		tar -xJ -C "$ENTRY" --strip-components=1 "${wanted[@]}" || die "unpacking $deb failed; delete it and run again"
	make_ethtool
	(build_kernel_tests) >> "$BUILD/kernel-tests.log" 2>&1 || die "they do not build, see $BUILD/kernel-tests.log"
	(cd "$ENTRY" && rm -rf tools/virtio tools/include tools/net/ynl/{lib,generated,Makefile.deps} drivers include MAINTAINERS)
	# else an emulated CPU compiles them, each time
	python3 -m compileall -q --invalidation-mode unchecked-hash "$ENTRY/tools"
	entry_made
}

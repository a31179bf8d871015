#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Removes the cache of the machine ($KVNET_CACHE, default ~/.cache/kvnet): downloads,
# unpacked kernels, User-Mode Linux, images. What needs them makes them again.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ -e "$CACHE" ] || exit 0
grep -qs '^# of kvnet' "$CACHE/CACHEDIR.TAG" || die "$CACHE is not a cache of kvnet"
info "removing $CACHE, $(du -sh "$CACHE" | cut -f 1)"
rm -rf "$CACHE"

// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - defines the tracepoints of trace.h
 */
/* Before CREATE_TRACE_POINTS: these headers include tracepoints of the kernel. */
#include "worker/work.h"
#include "vq/vq.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

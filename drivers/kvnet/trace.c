// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - the one place where the tracepoints are made
 */
/* First: what these include has tracepoints of its own. */
#include "work.h"
#include "vq.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

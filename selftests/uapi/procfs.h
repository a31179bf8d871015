/* SPDX-License-Identifier: GPL-2.0 */
/* What is left behind: worker threads, open files, eventfds, memory. */
#ifndef SELFTESTS_PROCFS_H
#define SELFTESTS_PROCFS_H

/* Threads that serve a device, by their names. */
unsigned int workers(void);
void no_worker_left(unsigned int before);
/* Open files, all over the system; see no_file_left() for how exactly. */
unsigned long open_files(void);
/* No more than others have been added since open_files() said before. */
void no_file_left(unsigned long before, unsigned long others);
/* The number of a new eventfd: small as long as old ones are really gone. */
unsigned int eventfd_number(void);
long memory_available_kb(void);
/* kmemleak, where the kernel has it. */
void no_leak_found(void);

#endif /* SELFTESTS_PROCFS_H */

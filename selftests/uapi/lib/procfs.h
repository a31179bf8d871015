/* SPDX-License-Identifier: GPL-2.0 */
/* What is left behind: worker threads, open files, eventfds, memory. */
#ifndef SELFTESTS_PROCFS_H
#define SELFTESTS_PROCFS_H

#include <stdbool.h>
#include <sys/types.h>

/* A thread that serves a device: of which process? */
struct worker {
	pid_t pid;
	pid_t tid;
};

/* The letter of /proc/pid/task/tid/stat: 'D' waits, 'Z' is dead; 0: none. */
char task_state(pid_t pid, pid_t tid);
/* All of them, by their names, whether they are processes' or the kernel's. */
unsigned int workers(void);
/* How many serve this owner, and where one is. */
unsigned int workers_of(pid_t owner, struct worker *w);
/* The same, and where the first @most of them are. */
unsigned int list_workers(pid_t owner, struct worker *w, unsigned int most);
/* Threads that serve a device: one for each queue, or vhost_net's one. */
#define DEVICE_WORKERS	(vdev_is_vhost() ? 1u : 2u)
/*
 * Waits until this process's workers sleep: a frame or a used buffer is seen
 * before the worker is done with it, and has called and asked for the next event.
 */
void wait_worker_idle(void);
/* The same of another process, which has one device. */
void wait_workers_idle(pid_t owner);
/* Can this kernel make threads of a process for kvnet? */
bool kernel_has_vhost_task(void);
/*
 * Devices from now on have workers of this kind: "task", a thread of the owner, which skips the
 * case where the kernel cannot make one; "kthread"; or "", the module's own choice.
 */
void choose_worker(const char *kind);
/* This thread runs before all that are not real-time, or like others again. */
void run_first(bool first);
/* This process and the workers of its devices from now on share one CPU. */
void run_on_one_cpu(void);
/* In a process of its own, which ends with 0 if no check fails. */
void in_child(void (*fn)(void));
/* Has this child ended? And how, if that is asked for. */
bool child_ended(pid_t pid, int *status);
/* It has to end in time. */
void kill_child(pid_t pid);
/* A thread on another CPU sees a changed page table only once it has been in the kernel. */
bool is_user_mode_linux(void);
/* Another's open file, by its number there, to have it, too. */
int file_of(pid_t pid, int fd);
void no_worker_left(unsigned int before);
/* How often the device's module is in use. */
unsigned int module_users(void);
/* Open files, all over the system; see no_file_left() for how exactly. */
unsigned long open_files(void);
/* No more than others have been added since open_files() said before. */
void no_file_left(unsigned long before, unsigned long others);
/* The number of a new eventfd: small as long as old ones are really gone. */
unsigned int eventfd_number(void);
long memory_available_kb(void);
/* What has been taken since, in KiB; what is freed late is given time to be, if it is more. */
long memory_taken_kb(long before, long most);
/*
 * Calls use() up to three times, until no more than that is gone afterwards: other users of
 * memory (KASAN keeps freed memory for a while) take theirs once.
 */
void memory_is_given_back(void (*use)(void), long most_kb);
/* kmemleak, where the kernel has it. */
void no_leak_found(void);

#endif /* SELFTESTS_PROCFS_H */

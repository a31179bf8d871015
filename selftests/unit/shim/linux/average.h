/* SPDX-License-Identifier: GPL-2.0 */
/* Moving averages as the kernel's: the first sample is the average, each other one moves it by its share. */
#ifndef UNIT_SHIM_LINUX_AVERAGE_H
#define UNIT_SHIM_LINUX_AVERAGE_H

#define DECLARE_EWMA(name, precision, weight)					\
	struct ewma_##name {							\
		unsigned long internal;						\
	};									\
	static inline void ewma_##name##_init(struct ewma_##name *e)		\
	{									\
		e->internal = 0;						\
	}									\
	static inline unsigned long ewma_##name##_read(struct ewma_##name *e)	\
	{									\
		return e->internal >> (precision);				\
	}									\
	static inline void ewma_##name##_add(struct ewma_##name *e, unsigned long val) \
	{									\
		unsigned long sample = val << (precision);			\
										\
		if (e->internal)						\
			sample = (e->internal * ((weight) - 1) + sample) / (weight); \
		e->internal = sample;						\
	}

#endif /* UNIT_SHIM_LINUX_AVERAGE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_chain_add_table() reads nothing outside of an indirect table, nothing twice in a
 *	row, and ends within the chain's room, whatever the descriptors say; of a packed ring it
 *	takes all of the table
 * @bounds: a table of any length; up to 3 segments
 * @sources: vq/chain.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/chain.c: have = min_t(u32, count - i, INDIRECT_CHUNK); => have = INDIRECT_CHUNK;
 * @mutant: vq/chain.c: if (d.next >= count) => if (d.next > count)
 * @mutant: vq/chain.c: if (i - first >= have) => if (i - first > have)
 * @mutant: vq/chain.c: d.next = i + 1; => d.next = i + 2;
 * @mutant: vq/chain.h: if (table->len % sizeof(struct vring_desc) || count > U16_MAX + 1) => if (count > U16_MAX + 1)
 * @mutant: vq/chain.h: if (n >= chain->cap) => if (n > chain->cap)
 */
#include "guest.h"
#include "any_chain.h"

int main(void)
{
	struct kvnet_chain chain = any_chain();
	bool packed = any_bool();
	struct kvnet_desc table;
	unsigned int n;
	int ret;

	ASSUME(chain.n_out <= CHAIN_MAX && chain.n_in <= CHAIN_MAX);
	n = chain.n_out + chain.n_in;
	ASSUME(n <= chain.cap);
	table_addr = table.addr;
	table_len = table.len;
	table_known = true;

	ret = kvnet_chain_add_table(&chain, &table, packed || any_bool(), packed, &reader);

	ASSERT(ret == 0 || ret == -EINVAL || ret == -EMSGSIZE || ret == READER_ERROR ||
	      (ret == -ELOOP && !packed));
	ASSERT(chain.n_out + chain.n_in <= chain.cap);
	ASSERT(table_reads <= chain.cap - n + 1);
	ASSERT(IMPLIES(ret == 0, chain.n_out + chain.n_in > n));
	ASSERT(IMPLIES(ret == 0 && packed, chain.n_out + chain.n_in == n + table.len / 16));
	ASSERT(IMPLIES(table.len % 16 || !table.len, ret == -EINVAL && !table_reads));
	return 0;
}

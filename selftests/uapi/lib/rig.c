// SPDX-License-Identifier: GPL-2.0
/* A device, a tap and numbered frames: see rig.h. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>

#include "links.h"
#include "rig.h"

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		ksft_note("%s: %s", path, strerror(errno));
	close(fd);
}

/* A namespace without IPv6, which would talk on the tap by itself. */
void rig_enter_netns(void)
{
	if (unshare(CLONE_NEWNET)) {
		if (errno == EPERM)
			ksft_skip("needs root");
		ksft_note("no network namespace: %s", strerror(errno));
	}
	write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
}

void rig_link(const struct rig *r, bool up)
{
	ASSERT_EQ(link_up(if_nametoindex(r->name), up), 0);
}

void rig_tap_attach(int fd, char *name, unsigned int flags, int hdr_len)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | flags };

	strcpy(ifr.ifr_name, name);
	ASSERT_SYS(ioctl(fd, TUNSETIFF, &ifr));
	strcpy(name, ifr.ifr_name);
	if (flags & IFF_VNET_HDR)
		ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &hdr_len));
}

int rig_tap_new(struct rig *r, unsigned int flags)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), sndbuf = 1 << 20;

	if (fd < 0)
		ksft_skip("/dev/net/tun: %s", strerror(errno));
	strcpy(r->name, "uapi%d");
	rig_tap_attach(fd, r->name, IFF_NO_PI | (flags & TAP_BARE ? 0 : IFF_VNET_HDR) |
		       (flags & TAP_QUEUES ? IFF_MULTI_QUEUE : 0), r->v.hdr_len);
	if (flags & TAP_SNDBUF)
		ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &sndbuf));
	r->ifindex = if_nametoindex(r->name);
	ASSERT_EQ(link_mtu(r->ifindex, 65521), 0);
	rig_link(r, true);
	return fd;
}

int rig_packet_socket(const struct rig *r, int proto, bool vnet)
{
	int one = 1, size = 64 << 20, fd;
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(proto),
		.sll_ifindex = r->ifindex,
	};

	fd = ASSERT_SYS(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	if (vnet)
		ASSERT_SYS(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one,
				      sizeof(one)));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	ASSERT_SYS(bind(fd, (struct sockaddr *)&sll, sizeof(sll)));
	return fd;
}

int rig_queue_socket(const struct rig *r, unsigned int queue)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_QUEUE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, queue, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, FRAME_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = { .len = 4, .filter = code };
	int fd = rig_packet_socket(r, ETH_P_ALL, false);

	ASSERT_SYS(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)));
	return fd;
}

static void defaults(struct rig_cfg *c)
{
	if (!c->features)
		c->features = F_V1 | F_MRG | F_IND | F_EVENT;
	c->features = vdev_layout(c->features);
	if (!c->num)
		c->num = 256;
	if (!c->rx_num)
		c->rx_num = c->num;
	if (!c->regions)
		c->regions = 1;
	if (!c->bufs)
		c->bufs = c->num < 256 ? c->num : 256;
	if (!c->tx_buf)
		c->tx_buf = 4096;
	if (!c->rx_buf)
		c->rx_buf = 4096;
}

void rig_open(struct rig *r, const struct rig_cfg *cfg)
{
	struct vdev *v = &r->v;
	size_t size;
	int i;

	memset(r, 0, sizeof(*r));
	r->cfg = *cfg;
	defaults(&r->cfg);
	cfg = &r->cfg;
	if (!cfg->here)
		rig_enter_netns();
	vdev_open(v);
	v->bus = cfg->bus;
	vdev_set_features(v, cfg->features);
	size = VDEV_RING_ZONE + (2u << 20) +
	       (size_t)cfg->bufs * (cfg->tx_buf + cfg->rx_buf);
	size = (size + (1u << 20) - 1) & ~((1ul << 20) - 1);
	vdev_memory(v, size, cfg->regions);
	vdev_set_mem(v);
	vdev_queue_make(v, VDEV_RX, cfg->rx_num);
	vdev_queue_make(v, VDEV_TX, cfg->num);
	vdev_queue_pool(v, VDEV_RX, cfg->bufs, cfg->rx_buf);
	vdev_queue_pool(v, VDEV_TX, cfg->bufs, cfg->tx_buf);
	for (i = 0; i < 2; i++) {
		gr_start_at(&v->q[i].ring, cfg->base);
		vdev_queue_tell(v, i, cfg->base);
	}
	r->tap = rig_tap_new(r, cfg->tap);
	r->sniff = rig_packet_socket(r, FRAME_TYPE, false);
	r->inject = rig_packet_socket(r, 0, false);
	if (!cfg->stopped)
		rig_start(r);
}

void rig_set_up_again(struct rig *r)
{
	unsigned int i;

	vdev_set_features(&r->v, r->v.features);
	vdev_set_mem(&r->v);
	for (i = 0; i < 2; i++)
		vdev_queue_reset(&r->v, i);
	r->tx_out = 0;
}

void rig_start(struct rig *r)
{
	vdev_backend(&r->v, VDEV_RX, r->tap);
	vdev_backend(&r->v, VDEV_TX, r->tap);
}

/* Drops frames that wait in the tap. */
static void flush_tap(struct rig *r)
{
	struct pollfd p = { .fd = r->tap, .events = POLLIN };
	static uint8_t f[FRAME_MAX + 64];

	while (poll(&p, 1, 0) == 1)
		ASSERT(read(r->tap, f, sizeof(f)) > 0);
}

void rig_flush(struct rig *r)
{
	static uint8_t f[FRAME_MAX + 64];

	flush_tap(r);
	while (rig_sniff(r, f, sizeof(f), 0) >= 0)
		;
}

void rig_start_again(struct rig *r)
{
	vdev_backend(&r->v, VDEV_RX, -1);
	flush_tap(r);
	vdev_queue_reset(&r->v, VDEV_RX);
	vdev_backend(&r->v, VDEV_RX, r->tap);
}

void rig_swap_ring(struct rig *r, unsigned int q)
{
	struct guest_ring *g = &r->v.q[q].ring;
	struct vring_desc *d = g->cfg.desc;
	struct vring_avail *a = g->cfg.avail;
	unsigned int i;

	gr_publish(g);
	for (i = 0; i < g->cfg.num; i++) {
		d[i].addr = __builtin_bswap64(d[i].addr);
		d[i].len = __builtin_bswap32(d[i].len);
		d[i].flags = __builtin_bswap16(d[i].flags);
		d[i].next = __builtin_bswap16(d[i].next);
		a->ring[i] = __builtin_bswap16(a->ring[i]);
	}
	a->flags = __builtin_bswap16(a->flags);
	a->idx = __builtin_bswap16(a->idx);
}

void rig_another_tap(struct rig *r, struct rig *old)
{
	*old = *r;
	r->tap = rig_tap_new(r, 0);
	r->sniff = rig_packet_socket(r, FRAME_TYPE, false);
	r->inject = rig_packet_socket(r, 0, false);
}

void rig_close_tap(const struct rig *old)
{
	close(old->tap);
	close(old->sniff);
	close(old->inject);
}

void rig_stop(struct rig *r)
{
	vdev_backend(&r->v, VDEV_RX, -1);
	vdev_backend(&r->v, VDEV_TX, -1);
}

void rig_disown(struct rig *r)
{
	close(r->v.fd);
	r->v.fd = vdev_open_node();
}

void rig_take_over(struct rig *r)
{
	struct vdev *v = &r->v;
	unsigned int i;

	vdev_own(v->fd);
	vdev_set_features(v, v->features);
	vdev_set_mem(v);
	for (i = 0; i < 2; i++)
		vdev_queue_tell(v, i, 0);
	rig_start(r);
}

void rig_close(struct rig *r)
{
	vdev_close(&r->v);
	close(r->tap);
	close(r->sniff);
	close(r->inject);
}

long rig_counter(const struct rig *r, const char *name)
{
	char path[64], line[128], key[64];
	long value = -1, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^:]: %ld", key, &n) == 2 &&
		    !strcmp(key, name))
			value = n;
	fclose(f);
	return value;
}

void frame_make(uint8_t *f, uint32_t seq, uint32_t len)
{
	uint32_t words[3] = { seq, len, seq * 2654435761u ^ len };
	uint8_t head[FRAME_MIN] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, FRAME_TYPE >> 8,
		FRAME_TYPE & 0xff,
	};
	uint32_t i;

	memcpy(head + 14, words, sizeof(words));
	memcpy(f, head, len < FRAME_MIN ? len : FRAME_MIN);
	for (i = FRAME_MIN; i < len; i++)
		f[i] = seq * 31 + i * 7 + (i >> 8);
}

bool frame_is_ours(const uint8_t *f, size_t len)
{
	return len >= 14 && f[12] == FRAME_TYPE >> 8 &&
	       f[13] == (FRAME_TYPE & 0xff);
}

uint32_t frame_seq(const uint8_t *f)
{
	uint32_t seq;

	memcpy(&seq, f + 14, 4);
	return seq;
}

bool frame_check(const uint8_t *f, size_t len, uint32_t seq, uint32_t want)
{
	static _Thread_local uint8_t good[FRAME_MAX + 1];
	size_t i;

	if (len != want) {
		FAIL("frame %u: %zu bytes, not %u (carries number %u)", seq,
		     len, want, len >= FRAME_MIN ? frame_seq(f) : 0);
		return false;
	}
	frame_make(good, seq, want);
	if (!memcmp(good, f, want))
		return true;
	for (i = 0; good[i] == f[i];)
		i++;
	FAIL("frame %u of %u: byte %zu is %02x, not %02x (carries number %u)",
	     seq, want, i, f[i], good[i],
	     len >= FRAME_MIN ? frame_seq(f) : 0);
	return false;
}

/* Cut [hdr + len] bytes at buf as the shape says; returns how many pieces. */
static unsigned int cut(const struct shape *s, uint8_t *buf, uint32_t hdr,
			uint32_t total, bool write, struct gr_buf *out,
			unsigned int max)
{
	unsigned int n = 0;
	uint32_t at = 0, step;

	while (at < total) {
		step = s->piece ? s->piece : total;
		if (s->split_hdr && at < hdr && step > hdr - at)
			step = hdr - at;
		if (step > total - at || n == max - 1)
			step = total - at;
		out[n++] = (struct gr_buf) { buf + at, step, write };
		at += step;
	}
	return n;
}

static unsigned int direct_of(const struct shape *s)
{
	return s->indirect ? s->direct : GR_ALL_DIRECT;
}

static const struct shape whole;

int rig_tx_raw(struct rig *r, const void *hdr, const void *frame, uint32_t len,
	       const struct shape *shape)
{
	struct vdev_queue *q = &r->v.q[VDEV_TX];
	unsigned int h = r->v.hdr_len, n, max = 1024;
	struct gr_buf pieces[1024];
	uint8_t *buf;
	int ret;

	if (!shape)
		shape = &whole;
	ASSERT(h + len <= q->buf_size);
	buf = vdev_buf_get(q);
	if (!buf)
		return -ENOSPC;
	if (hdr)
		memcpy(buf, hdr, h);
	else
		memset(buf, 0, h);
	memcpy(buf + h, frame, len);
	if (shape->indirect && q->ring.cfg.ind_max < max)
		max = q->ring.cfg.ind_max;
	if (q->num < max)
		max = q->num;
	n = cut(shape, buf, h, h + len, false, pieces, max);
	ret = gr_add(&q->ring, pieces, n, direct_of(shape), buf);
	if (ret < 0) {
		vdev_buf_put(q, buf);
		return ret;
	}
	r->tx_out++;
	return 0;
}

int rig_tx(struct rig *r, uint32_t len, const struct shape *shape)
{
	uint8_t f[FRAME_MAX + 1];
	int ret;

	frame_make(f, r->tx_seq, len);
	ret = rig_tx_raw(r, NULL, f, len, shape);
	if (!ret)
		r->tx_seq++;
	return ret;
}

int rig_tx_reap(struct rig *r)
{
	struct vdev_queue *q = &r->v.q[VDEV_TX];
	struct gr_done d;
	int n = 0, ret;

	while ((ret = gr_get_used(&q->ring, &d)) == 1) {
		EXPECT_EQ(d.len, 0);	/* it has written nothing */
		vdev_buf_put(q, d.token);
		r->tx_out--;
		r->tx_done++;
		n++;
	}
	if (ret < 0)
		FAIL("TX: %s", q->ring.broken);
	return ret < 0 ? ret : n;
}

bool rig_tx_drain(struct rig *r, unsigned int ms)
{
	bool ok = WAIT_FOR(ms, rig_tx_reap(r) < 0 || !r->tx_out);

	if (!ok || r->tx_out)
		FAIL("TX: %u buffers were not given back", r->tx_out);
	return ok && !r->tx_out;
}

ssize_t rig_sniff(struct rig *r, uint8_t *f, size_t size, unsigned int ms)
{
	struct pollfd p = { .fd = r->sniff, .events = POLLIN };
	ssize_t n = recv(r->sniff, f, size, MSG_DONTWAIT | MSG_TRUNC);

	if (n >= 0)
		return n;
	if (poll(&p, 1, ksft_patience(ms)) != 1)
		return -1;
	return recv(r->sniff, f, size, MSG_DONTWAIT | MSG_TRUNC);
}

bool rig_expect(struct rig *r, uint32_t seq, uint32_t len)
{
	static _Thread_local uint8_t f[FRAME_MAX + 64];
	ssize_t n = rig_sniff(r, f, sizeof(f), 3000);

	if (n < 0) {
		FAIL("frame %u of %u bytes did not arrive", seq, len);
		return false;
	}
	return frame_check(f, n, seq, len);
}

void rig_send(struct rig *r, uint32_t len)
{
	ASSERT_EQ(rig_tx(r, len, NULL), 0);
	vdev_kick(&r->v.q[VDEV_TX]);
	rig_expect(r, r->tx_seq - 1, len);
	rig_tx_drain(r, 3000);
}

void rig_inject(struct rig *r, uint32_t seq, uint32_t len)
{
	static _Thread_local uint8_t f[FRAME_MAX + 1];

	frame_make(f, seq, len);
	ASSERT_EQ(send(r->inject, f, len, 0), len);
}

int rig_rx_post(struct rig *r, unsigned int count, const struct shape *shape)
{
	struct vdev_queue *q = &r->v.q[VDEV_RX];
	struct gr_buf pieces[1024];
	unsigned int n, done;
	uint8_t *buf;

	if (!shape)
		shape = &whole;
	for (done = 0; done < count; done++) {
		buf = vdev_buf_get(q);
		if (!buf)
			break;
		if (!r->cfg.kept)
			memset(buf, RX_CANARY, q->buf_size);
		n = cut(shape, buf, r->v.hdr_len, q->buf_size, true, pieces,
			q->num < 1024 ? q->num : 1024);
		if (gr_add(&q->ring, pieces, n, direct_of(shape), buf) < 0) {
			vdev_buf_put(q, buf);
			break;
		}
	}
	return done;
}

int rig_offer(struct rig *r, unsigned int count)
{
	int n = rig_rx_post(r, count, NULL);

	vdev_kick(&r->v.q[VDEV_RX]);
	return n;
}

ssize_t rig_rx(struct rig *r, void *hdr, uint8_t *f, size_t size,
	       unsigned int ms)
{
	static _Thread_local uint8_t flat[FRAME_MAX + 4096];
	struct vdev_queue *q = &r->v.q[VDEV_RX];
	unsigned int h = r->v.hdr_len, want = 0, have = 0;
	struct gr_done d;
	size_t at = 0;

	while (!want || have < want) {
		if (!WAIT_FOR(ms, gr_used_pending(&q->ring)))
			return -1;
		if (gr_get_used(&q->ring, &d) != 1) {
			FAIL("RX: %s", q->ring.broken);
			return -1;
		}
		ASSERT(at + d.len <= sizeof(flat));
		memcpy(flat + at, d.token, d.len);
		at += d.len;
		have++;
		if (!r->cfg.kept && d.len < q->buf_size)
			ksft_all_bytes("RX: beyond the used length",
				       (uint8_t *)d.token + d.len, RX_CANARY, q->buf_size - d.len);
		vdev_buf_put(q, d.token);
		if (!(r->v.features & F_MRG))
			want = 1;
		else if (!want && at >= h)
			want = flat[10] | flat[11] << 8;
		if (!want || have < want)	/* all but the last are full */
			ASSERT_EQ(d.len, q->buf_size);
		else if (have == want)
			EXPECT(d.len || want == 1);
		ASSERT(want <= q->num);
	}
	ASSERT(at >= h && at - h <= size);
	r->rx_bufs = have;
	if (hdr)
		memcpy(hdr, flat, h);
	memcpy(f, flat + h, at - h);
	return at - h;
}

bool rig_rx_expect(struct rig *r, uint32_t seq, uint32_t len)
{
	static _Thread_local uint8_t f[FRAME_MAX + 4096];
	ssize_t n = rig_rx(r, NULL, f, sizeof(f), 3000);

	if (n < 0) {
		FAIL("RX: frame %u of %u bytes did not arrive", seq, len);
		return false;
	}
	return frame_check(f, n, seq, len);
}

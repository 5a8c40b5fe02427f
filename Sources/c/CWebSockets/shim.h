// libwebsockets 4.1 for the WebSockets target alone, on a loop of libev. The functions here stand for macros that Swift cannot see.
#pragma once
#include <ev.h>
#include <libwebsockets.h>

/// Bytes that must be writable in front of everything given to lws_write.
static inline int roost_lws_pre(void) { return LWS_PRE; }

/// OpenSSL options that leave TLS 1.2 and 1.3 only.
static inline long roost_lws_tls12_or_newer(void) {
  return (long)(SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
}

/// A connection that is silent keeps no buffers. And a call of SSL_read ends with each record that is no data, so that a peer who
/// sends nothing but key updates does not keep the thread in it.
static inline void roost_tls_be_brief(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
}

/// Has `told` hear of the steps of all handshakes (SSL_CTX_set_info_callback(3)). `owner` is for it, and must live as long.
static inline void roost_tls_watch(SSL_CTX *context, void (*told)(const SSL *, int, int), void *owner) {
  SSL_CTX_set_app_data(context, owner);
  SSL_CTX_set_info_callback(context, told);
}

/// What `roost_tls_watch` was given.
static inline void *roost_tls_owner(const SSL *tls) { return SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls)); }

/// No connection is looked after by the library itself. Else it keeps a timer for each, and walks past those of all others whenever a
/// pong comes; ours are looked after by `PingSchedule`.
static const lws_retry_bo_t roost_unwatched = {0};
static inline const lws_retry_bo_t *roost_lws_unwatched(void) { return &roost_unwatched; }

/// A loop on epoll, whatever the environment says; NULL where there is no memory or descriptor for it.
static inline struct ev_loop *roost_ev_loop(void) { return ev_loop_new(EVFLAG_NOENV | EVBACKEND_EPOLL); }

/// Has `ring` called every `seconds`. `timer` must have been zero at first.
static inline void roost_ev_tick(
    struct ev_loop *loop, ev_timer *timer, double seconds, void (*ring)(struct ev_loop *, ev_timer *, int), void *data) {
  ev_timer_init(timer, ring, seconds, seconds);
  timer->data = data;
  ev_timer_start(loop, timer);
}

/// Makes `watch` one that has `ready` called while `descriptor` can be read from, or where `writes` is 1 be written to. It is not
/// started.
static inline void roost_ev_watch(
    ev_io *watch, int descriptor, int writes, void (*ready)(struct ev_loop *, ev_io *, int), void *data) {
  ev_io_init(watch, ready, descriptor, writes ? EV_WRITE : EV_READ);
  watch->data = data;
}

/// Has `ring` called once, in `seconds`, in the place of what the timer was set to before. `timer` must have been zero at first.
static inline void roost_ev_alarm(
    struct ev_loop *loop, ev_timer *timer, double seconds, void (*ring)(struct ev_loop *, ev_timer *, int), void *data) {
  ev_timer_stop(loop, timer);
  ev_timer_init(timer, ring, seconds, 0.);
  timer->data = data;
  ev_now_update(loop);
  ev_timer_start(loop, timer);
}

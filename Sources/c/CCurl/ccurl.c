// See ccurl.h. The functions are found by name, with the types of libcurl's header.
#include "ccurl.h"

#include <dlfcn.h>
#include <string.h>

#define FUNCTIONS(each)                                                                                                \
  each(global_init) each(easy_init) each(easy_setopt) each(easy_perform) each(easy_getinfo) each(easy_cleanup)         \
      each(easy_strerror) each(slist_append) each(slist_free_all) each(multi_init) each(multi_cleanup)                 \
          each(version_info) each(multi_add_handle) each(multi_remove_handle) each(multi_perform) each(multi_poll) each(multi_info_read)

#define DECLARE(name) __typeof__(curl_##name) *name;
static struct {
  FUNCTIONS(DECLARE)
} curl;

// Its version since 2006. It stays loaded until the process ends.
static const char library[] = "libcurl.so.4";

// What TLS 1.2 may come to: a key of its own for each connection, and no CBC (RFC 9325, section 4.2).
static const char tls12_ciphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305";
// Whether the library speaks TLS by OpenSSL, whose names for ciphers those are.
static int has_openssl;

int ccurl_start(void) {
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!loaded) return -1;
#define FIND(name) \
  if (!(curl.name = (__typeof__(curl.name))dlsym(loaded, "curl_" #name))) return -1;
  FUNCTIONS(FIND)
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return -1;
  const curl_version_info_data *facts = curl.version_info(CURLVERSION_FIRST);
  has_openssl = facts && facts->ssl_version && strncmp(facts->ssl_version, "OpenSSL/", 8) == 0;
  return 0;
}

// What is read of an answer is thrown away.
static size_t discard(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes;
  (void)context;
  return size * count;
}

// What holds for all we send: http or https, no old TLS, no redirect, no proxy, no signals, nothing kept of the answer.
static CURLcode prepare(CURL *easy, const char *url, long timeout_ms) {
  CURLcode code = curl.easy_setopt(easy, CURLOPT_URL, url);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (!code) code = curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_PROXY, "");
  if (!code) code = curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (!code && has_openssl) code = curl.easy_setopt(easy, CURLOPT_SSL_CIPHER_LIST, tls12_ciphers);
  return code;
}

CURL *ccurl_post(const char *url, struct curl_slist *headers, const void *body, long count, long timeout_ms,
                 long connect_ms) {
  CURL *easy = curl.easy_init();
  if (!easy) return NULL;
  CURLcode code = prepare(easy, url, timeout_ms);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_POST, 1L);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE, count);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  if (!code) return easy;
  curl.easy_cleanup(easy);
  return NULL;
}

// What is read of an answer is kept, as long as it fits. Less than what came ends the request (CURLOPT_WRITEFUNCTION).
static size_t keep(char *bytes, size_t size, size_t count, void *context) {
  struct ccurl_body *body = context;
  size_t more = size * count;
  if (more > body->capacity - body->count) {
    body->is_full = 1;
    return 0;
  }
  memcpy(body->bytes + body->count, bytes, more);
  body->count += more;
  return more;
}

int ccurl_keep(CURL *easy, struct ccurl_body *body) {
  CURLcode code = curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_WRITEDATA, body);
  return code ? -1 : 0;
}

int ccurl_hurry(CURL *easy) {
  // Not known before 7.87, where a name server that is silent may hold the thread up.
  curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  return curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ? -1 : 0;
}

void ccurl_free(CURL *easy) { curl.easy_cleanup(easy); }

struct curl_slist *ccurl_headers_append(struct curl_slist *headers, const char *line) {
  struct curl_slist *longer = curl.slist_append(headers, line);
  return longer ? longer : headers;
}

void ccurl_headers_free(struct curl_slist *headers) { curl.slist_free_all(headers); }

long ccurl_options(const char *url, long timeout_ms, char words[CURL_ERROR_SIZE], CURLcode *result) {
  long status = 0;
  words[0] = 0;
  *result = CURLE_OUT_OF_MEMORY;
  CURL *easy = curl.easy_init();
  if (!easy) return 0;
  CURLcode code = prepare(easy, url, timeout_ms);
  if (!code) code = curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "OPTIONS");
  if (!code) code = curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, words);
  if (!code) code = curl.easy_perform(easy);
  if (!code) code = curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl.easy_cleanup(easy);
  *result = code;
  return status;
}

CURLM *ccurl_multi_new(void) { return curl.multi_init(); }

void ccurl_multi_free(CURLM *multi) { curl.multi_cleanup(multi); }

int ccurl_multi_add(CURLM *multi, CURL *easy) { return curl.multi_add_handle(multi, easy) == CURLM_OK ? 0 : -1; }

void ccurl_multi_remove(CURLM *multi, CURL *easy) { curl.multi_remove_handle(multi, easy); }

void ccurl_multi_perform(CURLM *multi) {
  int left = 0;
  curl.multi_perform(multi, &left);
}

void ccurl_multi_wait(CURLM *multi, int descriptor, int timeout_ms) {
  struct curl_waitfd extra = {.fd = descriptor, .events = CURL_WAIT_POLLIN, .revents = 0};
  curl.multi_poll(multi, &extra, 1, timeout_ms, NULL);
}

CURL *ccurl_next_done(CURLM *multi, CURLcode *result) {
  int left = 0;
  for (;;) {
    CURLMsg *message = curl.multi_info_read(multi, &left);
    if (!message) return NULL;
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
}

long ccurl_status(CURL *easy) {
  long status = 0;
  curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

int64_t ccurl_retry_after(CURL *easy) {
  curl_off_t seconds = 0;
  curl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  return seconds;
}

const char *ccurl_words(CURLcode result) { return curl.easy_strerror(result); }

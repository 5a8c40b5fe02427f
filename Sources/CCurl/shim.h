#include <curl/curl.h>
#include <stdint.h>

// Swift cannot call variadic functions, which setting anything in libcurl is.

/// What is read of an answer is thrown away.
static inline size_t ccurl_discard(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes;
  (void)context;
  return size * count;
}

/// What holds for all we send: http or https, no redirect, no proxy, no signals, nothing kept of the answer.
static inline CURLcode ccurl_prepare(CURL *easy, const char *url, long timeout_ms) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, url);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (!code) code = curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (!code) code = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ccurl_discard);
  return code;
}

/// A POST that follows no redirect, uses no proxy and checks certificates (libcurl's default). `body` is copied; `headers`
/// must live as long as the handle.
static inline CURL *ccurl_post(
    const char *url, struct curl_slist *headers, const void *body, long count, long timeout_ms, long connect_ms) {
  CURL *easy = curl_easy_init();
  if (!easy) return 0;
  CURLcode code = ccurl_prepare(easy, url, timeout_ms);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_POST, 1L);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, count);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  if (!code) return easy;
  curl_easy_cleanup(easy);
  return 0;
}

/// Asks a server for its options and waits for the answer: its HTTP status, 0 where none came. `words` takes what went wrong.
static inline long ccurl_options(const char *url, long timeout_ms, char words[CURL_ERROR_SIZE], CURLcode *result) {
  long status = 0;
  words[0] = 0;
  *result = CURLE_OUT_OF_MEMORY;
  CURL *easy = curl_easy_init();
  if (!easy) return 0;
  CURLcode code = ccurl_prepare(easy, url, timeout_ms);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "OPTIONS");
  if (!code) code = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, words);
  if (!code) code = curl_easy_perform(easy);
  if (!code) code = curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_cleanup(easy);
  *result = code;
  return status;
}

/// The next request that is done; 0 when there is none.
static inline CURL *ccurl_next_done(CURLM *multi, CURLcode *result) {
  int left = 0;
  for (;;) {
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (!message) return 0;
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
}

/// The HTTP status of a request that is done.
static inline long ccurl_status(CURL *easy) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

/// Seconds after which the answer asks to come again; 0 where it does not.
static inline int64_t ccurl_retry_after(CURL *easy) {
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  return seconds;
}

/// Sleeps until something happens on the network, `descriptor` becomes readable, or the time is over.
static inline void ccurl_wait(CURLM *multi, int descriptor, int timeout_ms) {
  struct curl_waitfd extra = {.fd = descriptor, .events = CURL_WAIT_POLLIN, .revents = 0};
  curl_multi_poll(multi, &extra, 1, timeout_ms, 0);
}

// libcurl for the Webhooks target, loaded when the first sender is made: it brings two dozen libraries with it, and a server
// without webhooks has no use for them. Also, Swift cannot call variadic functions, which setting anything in libcurl is.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <stdint.h>

// Loads and starts libcurl. Call it once, before anything else here. Returns 0, or -1 where it cannot be loaded.
int ccurl_start(void);

// A POST that follows no redirect, uses no proxy and checks certificates (libcurl's default). `body` is copied; `headers`
// must live as long as the handle. NULL where there is no memory for it.
CURL *ccurl_post(const char *url, struct curl_slist *headers, const void *body, long count, long timeout_ms,
                 long connect_ms);
void ccurl_free(CURL *easy);

// Where the body of an answer is kept, and how much of it there is.
struct ccurl_body {
  uint8_t *bytes;
  size_t capacity;
  size_t count;
  // Whether there was more than fits: the request fails then.
  int is_full;
};

// Keeps the body of the answer instead of throwing it away. `body` and its bytes must live as long as the handle. Returns 0, or -1.
int ccurl_keep(CURL *easy, struct ccurl_body *body);

// For a request whose answer somebody waits for. It takes HTTP/1.1, where a request that times out closes its connection: in HTTP/2 the next
// one would take the same connection, dead or not. And it does not wait for a look-up of a name that it has given up. Returns 0, or -1.
int ccurl_hurry(CURL *easy);

struct curl_slist *ccurl_headers_append(struct curl_slist *headers, const char *line);
void ccurl_headers_free(struct curl_slist *headers);

// Asks a server for its options and waits for the answer: its HTTP status, 0 where none came. `words` takes what went wrong.
long ccurl_options(const char *url, long timeout_ms, char words[CURL_ERROR_SIZE], CURLcode *result);

// Many requests at a time, for one thread.
CURLM *ccurl_multi_new(void);
void ccurl_multi_free(CURLM *multi);
// Returns 0, or -1 where the request cannot begin.
int ccurl_multi_add(CURLM *multi, CURL *easy);
void ccurl_multi_remove(CURLM *multi, CURL *easy);
void ccurl_multi_perform(CURLM *multi);
// Sleeps until something happens on the network, `descriptor` becomes readable, or the time is over.
void ccurl_multi_wait(CURLM *multi, int descriptor, int timeout_ms);
// The next request that is done; NULL when there is none.
CURL *ccurl_next_done(CURLM *multi, CURLcode *result);

// The HTTP status of a request that is done.
long ccurl_status(CURL *easy);
// Seconds after which the answer asks to come again; 0 where it does not.
int64_t ccurl_retry_after(CURL *easy);
// What a result means, in libcurl's words.
const char *ccurl_words(CURLcode result);

#endif

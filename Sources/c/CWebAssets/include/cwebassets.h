// The files of Sources/clients/WebClient/Assets as bytes in the binary. `#embed` (C23) is read in milliseconds and tracked as a
// dependency, while SwiftPM's `.embedInCode` makes an array literal that the compiler chews on for a quarter of a minute.
#ifndef ROOST_CWEBASSETS_H
#define ROOST_CWEBASSETS_H
#include <stddef.h>

/// One embedded file; `bytes` live as long as the process.
typedef struct {
  const char *name;
  const char *content_type;
  const unsigned char *bytes;
  size_t count;
} cwebassets_file;

/// How many files there are.
size_t cwebassets_count(void);

/// The file at `index`; an empty one named "" where `index` is out of range.
cwebassets_file cwebassets_at(size_t index);
#endif

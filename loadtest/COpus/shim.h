// libopus for the OpusCodec target. Its controls are variadic, which Swift cannot call.
#include <opus/opus.h>

static inline int copus_set_bitrate(OpusEncoder *encoder, opus_int32 bits_per_second) {
  return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
}

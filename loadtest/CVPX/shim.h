// libvpx for the VP8Codec target: what its macros and unions hide from Swift.
#include <string.h>
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// A real-time encoder without rate control's surprises: constant bitrate, no lag, keyframes only when asked for.
static inline vpx_codec_err_t cvpx_open_encoder(
    vpx_codec_ctx_t *context, unsigned width, unsigned height, unsigned frames_per_second, unsigned kilobits) {
  vpx_codec_enc_cfg_t configuration;
  vpx_codec_err_t status = vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &configuration, 0);
  if (status != VPX_CODEC_OK) return status;
  configuration.g_w = width;
  configuration.g_h = height;
  configuration.g_timebase.num = 1;
  configuration.g_timebase.den = (int)frames_per_second;
  configuration.g_lag_in_frames = 0;
  configuration.g_threads = 1;
  configuration.rc_end_usage = VPX_CBR;
  configuration.rc_target_bitrate = kilobits;
  configuration.kf_mode = VPX_KF_DISABLED;
  status = vpx_codec_enc_init_ver(context, vpx_codec_vp8_cx(), &configuration, 0, VPX_ENCODER_ABI_VERSION);
  if (status != VPX_CODEC_OK) return status;
  return vpx_codec_control_(context, VP8E_SET_CPUUSED, -8);
}

static inline vpx_codec_err_t cvpx_open_decoder(vpx_codec_ctx_t *context) {
  return vpx_codec_dec_init_ver(context, vpx_codec_vp8_dx(), NULL, 0, VPX_DECODER_ABI_VERSION);
}

// Encodes one picture of three planes without padding.
static inline vpx_codec_err_t cvpx_encode(
    vpx_codec_ctx_t *context, unsigned char *i420, unsigned width, unsigned height, long number, int keyframe) {
  vpx_image_t image;
  if (!vpx_img_wrap(&image, VPX_IMG_FMT_I420, width, height, 1, i420)) return VPX_CODEC_MEM_ERROR;
  return vpx_codec_encode(context, &image, number, 1, keyframe ? VPX_EFLAG_FORCE_KF : 0, VPX_DL_REALTIME);
}

// The next encoded frame; NULL when there is none.
static inline const void *cvpx_next_frame(vpx_codec_ctx_t *context, vpx_codec_iter_t *iterator, size_t *length) {
  const vpx_codec_cx_pkt_t *packet;
  while ((packet = vpx_codec_get_cx_data(context, iterator))) {
    if (packet->kind != VPX_CODEC_CX_FRAME_PKT) continue;
    *length = packet->data.frame.sz;
    return packet->data.frame.buf;
  }
  return NULL;
}

// Copies a decoded picture's planes one after the other, without padding; 0 when `capacity` bytes are too few.
static inline size_t cvpx_copy_picture(const vpx_image_t *image, unsigned char *to, size_t capacity) {
  size_t written = 0;
  for (int plane = 0; plane < 3; plane++) {
    unsigned width = plane ? (image->d_w + 1) / 2 : image->d_w;
    unsigned height = plane ? (image->d_h + 1) / 2 : image->d_h;
    if (written + (size_t)width * height > capacity) return 0;
    for (unsigned row = 0; row < height; row++) {
      memcpy(to + written, image->planes[plane] + (size_t)row * image->stride[plane], width);
      written += width;
    }
  }
  return written;
}

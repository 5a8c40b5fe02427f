// libipsec-mb for the IPSecMB target: AES-GCM by direct calls. x86-64 only.
//
// The library's manager is an array of function pointers chosen for the CPU, with queues for batched jobs that are not
// used here. So a manager lives only as long as it takes to copy the pointers; what they work on is the caller's.
#pragma once
#include <intel-ipsec-mb.h>
#include <stddef.h>
#include <stdint.h>

// The functions for one key length.
typedef struct {
  aes_gcm_pre_t prepare;
  aes_gcm_enc_dec_t encrypt;
  aes_gcm_enc_dec_t decrypt;
} cipsecmb_gcm;

// Both key lengths, and what the library has chosen for this CPU (enum IMB_ARCH, for people).
typedef struct {
  cipsecmb_gcm gcm128;
  cipsecmb_gcm gcm256;
  int architecture;
} cipsecmb_functions;

// Bytes of an expanded key. 64-byte aligned.
static inline size_t cipsecmb_gcm_key_size(void) { return sizeof(struct gcm_key_data); }

// Chooses for this CPU. Returns 1, or 0 where it has no AES and carry-less multiplication instructions or the library's
// self-test fails.
static inline int cipsecmb_load(cipsecmb_functions *functions) {
  IMB_MGR *manager = alloc_mb_mgr(0);
  if (manager == NULL) return 0;
  const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
  IMB_ARCH architecture = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &architecture);
  const int usable = imb_get_errno(manager) == 0 && (manager->features & needed) == needed &&
                     architecture != IMB_ARCH_NONE && architecture != IMB_ARCH_NOAESNI;
  if (usable) {
    functions->gcm128 = (cipsecmb_gcm){manager->gcm128_pre, manager->gcm128_enc, manager->gcm128_dec};
    functions->gcm256 = (cipsecmb_gcm){manager->gcm256_pre, manager->gcm256_enc, manager->gcm256_dec};
    functions->architecture = (int)architecture;
  }
  free_mb_mgr(manager);
  return usable;
}

static inline void cipsecmb_gcm_prepare(const cipsecmb_gcm *functions, const uint8_t *key, void *expanded) {
  functions->prepare(key, (struct gcm_key_data *)expanded);
}

// Encrypts or decrypts `length` bytes of `text` to `to`, which may be the same place; `tag` gets the 16 bytes that belong
// to the text. The scratch space is the stack's, which is in the CPU's caches; one a key would not be.
static inline void cipsecmb_gcm_run(aes_gcm_enc_dec_t function, const void *expanded, const uint8_t *text, uint8_t *to,
                                    size_t length, const uint8_t *nonce, const uint8_t *associated,
                                    size_t associated_length, uint8_t *tag) {
  struct gcm_context_data scratch;
  function((const struct gcm_key_data *)expanded, &scratch, to, text, length, nonce, associated, associated_length, tag,
           16);
}

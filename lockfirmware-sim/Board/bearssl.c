// The cryptography of BearSSL (Thomas Pornin), from Debian's source package, behind the board's own names.
#include "board.h"
#include "string.h"
#include "bearssl.h"

int board_has_cryptography(void) { return 1; }

void board_x25519(uint8_t *result, const uint8_t *scalar, const uint8_t *point) {
  memcpy(result, point, 32);
  br_ec_c25519_m31.mul(result, 32, scalar, 32, BR_EC_curve25519);
}

void board_chacha_poly(
    const uint8_t *key, const uint8_t *nonce, uint8_t *text, size_t count, const uint8_t *data, size_t data_count,
    uint8_t *tag, int encrypts) {
  br_poly1305_ctmul_run(key, nonce, text, count, data, data_count, tag, br_chacha20_ct_run, encrypts);
}

void board_sha256(uint8_t *result, const uint8_t *bytes, size_t count) {
  br_sha256_context context;
  br_sha256_init(&context);
  br_sha256_update(&context, bytes, count);
  br_sha256_out(&context, result);
}

void board_hmac_sha256(uint8_t *result, const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count) {
  br_hmac_key_context prepared;
  br_hmac_context context;
  br_hmac_key_init(&prepared, &br_sha256_vtable, key, key_count);
  br_hmac_init(&context, &prepared, 0);
  br_hmac_update(&context, bytes, count);
  br_hmac_out(&context, result);
}

// Without BearSSL's sources the board has no cryptography, and says so.
#include "board.h"

int board_has_cryptography(void) { return 0; }
void board_x25519(uint8_t *r, const uint8_t *s, const uint8_t *p) { (void)r, (void)s, (void)p, board_exit(4); }
void board_chacha_poly(
    const uint8_t *k, const uint8_t *n, uint8_t *t, size_t c, const uint8_t *d, size_t e, uint8_t *g, int f) {
  (void)k, (void)n, (void)t, (void)c, (void)d, (void)e, (void)g, (void)f, board_exit(4);
}
void board_sha256(uint8_t *r, const uint8_t *b, size_t c) { (void)r, (void)b, (void)c, board_exit(4); }
void board_hmac_sha256(uint8_t *r, const uint8_t *k, size_t n, const uint8_t *b, size_t c) {
  (void)r, (void)k, (void)n, (void)b, (void)c, board_exit(4);
}

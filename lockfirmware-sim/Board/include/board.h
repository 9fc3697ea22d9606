// What the board has beside its processor: a console, an arena and cryptography.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Writes one character to the console, through the debugger (semihosting).
void board_write(uint8_t character);
/// Ends the run with an exit status.
void board_exit(int status) __attribute__((noreturn));

/// The arena's size, what is in use of it, and the most that was, in bytes, with the bookkeeping.
uint32_t board_arena_size(void);
uint32_t board_arena_used(void);
uint32_t board_arena_peak(void);
/// The most of the stack that was used so far, and its size, in bytes.
uint32_t board_stack_peak(void);
uint32_t board_stack_size(void);

/// How many steps the long script has (`scripts/firmware --steps`).
uint32_t board_step_count(void);

/// Whether the functions below are BearSSL's. Otherwise they must not be called.
int board_has_cryptography(void);
/// X25519 of a scalar and a point, 32 bytes each.
void board_x25519(uint8_t *result, const uint8_t *scalar, const uint8_t *point);
/// ChaCha20-Poly1305 in place, with a nonce of 12 bytes and a tag of 16.
void board_chacha_poly(
    const uint8_t *key, const uint8_t *nonce, uint8_t *text, size_t count, const uint8_t *data, size_t data_count,
    uint8_t *tag, int encrypts);
void board_sha256(uint8_t *result, const uint8_t *bytes, size_t count);
void board_hmac_sha256(uint8_t *result, const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count);

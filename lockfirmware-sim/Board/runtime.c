// What a program without an operating system needs: the vectors, the start, the console, and memory from a fixed arena.
#include "board.h"
#include "string.h"

extern uint32_t _sidata, _sdata, _edata, _sbss, _ebss;
extern uint8_t _arena, _arena_end, _stack, _stack_end;
int main(void);

// Semihosting: the debugger, here QEMU, carries out the call.
static int semihost(int operation, void *argument) {
  register int r0 __asm__("r0") = operation;
  register void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_write(uint8_t character) {
  char text = (char)character;
  semihost(3, &text);
}

void board_exit(int status) {
  uint32_t block[2] = {0x20026, (uint32_t)status};
  semihost(0x20, block);
  for (;;) {
  }
}

static void say(const char *text) {
  while (*text) board_write((uint8_t)*text++);
}

void *memcpy(void *to, const void *from, size_t count) {
  uint8_t *a = to;
  const uint8_t *b = from;
  while (count--) *a++ = *b++;
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  uint8_t *a = to;
  const uint8_t *b = from;
  if (a < b) {
    while (count--) *a++ = *b++;
  } else {
    while (count--) a[count] = b[count];
  }
  return to;
}

void *memset(void *at, int value, size_t count) {
  uint8_t *a = at;
  while (count--) *a++ = (uint8_t)value;
  return at;
}

int memcmp(const void *one, const void *other, size_t count) {
  const uint8_t *a = one, *b = other;
  for (; count--; a++, b++) {
    if (*a != *b) return *a - *b;
  }
  return 0;
}

size_t strlen(const char *text) {
  size_t count = 0;
  while (text[count]) count++;
  return count;
}

// The compiler's own names for these (Run-time ABI for the Arm Architecture).
void __aeabi_memcpy(void *d, const void *s, size_t n) { memcpy(d, s, n); }
void __aeabi_memcpy4(void *d, const void *s, size_t n) { memcpy(d, s, n); }
void __aeabi_memcpy8(void *d, const void *s, size_t n) { memcpy(d, s, n); }
void __aeabi_memmove(void *d, const void *s, size_t n) { memmove(d, s, n); }
void __aeabi_memmove4(void *d, const void *s, size_t n) { memmove(d, s, n); }
void __aeabi_memmove8(void *d, const void *s, size_t n) { memmove(d, s, n); }
void __aeabi_memset(void *d, size_t n, int c) { memset(d, c, n); }
void __aeabi_memset4(void *d, size_t n, int c) { memset(d, c, n); }
void __aeabi_memset8(void *d, size_t n, int c) { memset(d, c, n); }
void __aeabi_memclr(void *d, size_t n) { memset(d, 0, n); }
void __aeabi_memclr4(void *d, size_t n) { memset(d, 0, n); }
void __aeabi_memclr8(void *d, size_t n) { memset(d, 0, n); }

// The arena: blocks in the order of their addresses, each with a header. The first free one that fits is taken; free
// neighbours are joined. It never grows, and a program that needs more ends.
typedef struct Block {
  uint32_t size;  // with the header; the lowest bit says that it is in use
  uint32_t pad;   // what is returned is aligned to 8
} Block;

static uint32_t used, peak;

static Block *next(Block *block) { return (Block *)((uint8_t *)block + (block->size & ~1u)); }
static Block *first(void) { return (Block *)&_arena; }
static int is_end(Block *block) { return (uint8_t *)block >= &_arena_end; }

uint32_t board_arena_size(void) { return (uint32_t)(&_arena_end - &_arena); }
uint32_t board_arena_used(void) { return used; }
uint32_t board_arena_peak(void) { return peak; }

void *malloc(size_t count) {
  uint32_t wanted = ((uint32_t)count + sizeof(Block) + 7) & ~7u;
  if (count > board_arena_size()) return 0;
  for (Block *block = first(); !is_end(block); block = next(block)) {
    if (block->size & 1) continue;
    while (!is_end(next(block)) && !(next(block)->size & 1)) block->size += next(block)->size;
    if (block->size < wanted) continue;
    if (block->size - wanted >= 2 * sizeof(Block)) {
      uint32_t rest = block->size - wanted;
      block->size = wanted;
      next(block)->size = rest;
    }
    used += block->size;
    if (used > peak) peak = used;
    block->size |= 1;
    return block + 1;
  }
  say("the arena is full\n");
  board_exit(3);
}

void free(void *at) {
  if (!at) return;
  Block *block = (Block *)at - 1;
  block->size &= ~1u;
  used -= block->size;
}

int posix_memalign(void **result, size_t alignment, size_t count) {
  if (alignment > 8) return 22;
  *result = malloc(count);
  return *result ? 0 : 12;
}

void *aligned_alloc(size_t alignment, size_t count) { return alignment > 8 ? 0 : malloc(count); }

// Swift seeds its hash tables with it. The firmware has none, and keys do not come from here.
void arc4random_buf(void *at, size_t count) { memset(at, 4, count); }

int putchar(int character) {
  board_write((uint8_t)character);
  return character;
}

#define PAINT 0xA5

uint32_t board_stack_size(void) { return (uint32_t)(&_stack_end - &_stack); }

uint32_t board_stack_peak(void) {
  const uint8_t *lowest = &_stack;
  while (lowest < &_stack_end && *lowest == PAINT) lowest++;
  return (uint32_t)(&_stack_end - lowest);
}

uint32_t board_step_count(void) { return BOARD_STEPS; }

static void start(void) {
  uint32_t *from = &_sidata;
  for (uint32_t *to = &_sdata; to < &_edata;) *to++ = *from++;
  for (uint32_t *to = &_sbss; to < &_ebss;) *to++ = 0;
  first()->size = board_arena_size();
  uint8_t here;
  // Below this frame, so that what was never used keeps the paint.
  for (uint8_t *at = &_stack; at < &here - 64; at++) *(volatile uint8_t *)at = PAINT;
  main();
  board_exit(0);
}

void Reset(void) { start(); }

static void Fault(void) {
  say("fault: the stack, a trap of Swift's, or a wrong address\n");
  board_exit(2);
}

__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    &_stack_end, (void *)Reset, (void *)Fault, (void *)Fault, (void *)Fault, (void *)Fault, (void *)Fault};

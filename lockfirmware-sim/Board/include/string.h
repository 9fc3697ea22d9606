// The few functions of <string.h> that the board has; runtime.c has their bodies.
#pragma once
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *at, int value, size_t count);
int memcmp(const void *one, const void *other, size_t count);
size_t strlen(const char *text);

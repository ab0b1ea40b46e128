/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry point that libFuzzer and replay.c call, and a check that stays in release builds. */
#ifndef WEIR_FUZZ_H
#define WEIR_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)         \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* nl80211 messages, of a kernel or of a file: whatever they hold, the decoder stays within them and its tables. */
#include "sys/sys.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sys_wifi *w = malloc(sizeof(*w));
	char *copy = calloc(1, size + 4); /* what the decoder asks for */

	if (w && copy) {
		memcpy(copy, data, size);
		if (sys_wifi_decode(copy, size, "wlan0", w, NULL) >= 0)
			FUZZ_CHECK(w->index > 0);
		FUZZ_CHECK(w->n <= SYS_WIFI_STATIONS && w->type);
		for (size_t i = 0; i < w->n; i++)
			FUZZ_CHECK(w->station[i].n_chains <= SYS_WIFI_CHAINS &&
				   w->station[i].tx.gen <= SYS_WIFI_EHT);
	}
	free(copy);
	free(w);
	return 0;
}

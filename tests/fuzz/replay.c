/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every build, not only one with libFuzzer, runs the parsers over the inputs that once were
 * interesting: each file of the folders given goes to the target once. The count goes to
 * stdout; an empty or missing folder is a skip (77), so that a lost corpus is seen.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SKIPPED 77

/* The input sits in a block of its own length, so that a sanitizer sees one byte too far. */
static int replay_file(const char *path, size_t size)
{
	int rc = -1;
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1);
	if (f && data && fread(data, 1, size, f) == size) {
		LLVMFuzzerTestOneInput(data, size);
		rc = 0;
	}
	if (rc)
		perror(path);
	free(data);
	if (f)
		fclose(f);
	return rc;
}

/* The number of files replayed, or -1. */
static int replay_folder(const char *folder)
{
	int files = 0, rc = 0;
	DIR *d = opendir(folder);
	struct dirent *entry;
	while (d && !rc && (entry = readdir(d))) {
		char path[4096];
		struct stat st;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		rc = replay_file(path, (size_t)st.st_size);
		files++;
	}
	if (d)
		closedir(d);
	return rc ? rc : files;
}

int main(int argc, char **argv)
{
	int total = 0;
	bool skipped = argc < 2;
	for (int i = 1; i < argc; i++) {
		int files = replay_folder(argv[i]);
		if (files < 0)
			return EXIT_FAILURE;
		if (!files)
			fprintf(stderr, "no corpus in %s\n", argv[i]);
		skipped = skipped || !files;
		total += files;
	}
	printf("%d\n", total);
	return skipped ? SKIPPED : EXIT_SUCCESS;
}

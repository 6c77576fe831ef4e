/*
 * corpus.c
 *	  Runs a fuzz target over the files named, without libFuzzer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern int	LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/* For the targets' own mutators, which nothing calls here. */
size_t		LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	(void) data;
	(void) max_size;
	return size;
}

int
main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
	{
		FILE	   *file = fopen(argv[i], "rb");
		uint8_t    *copy;
		size_t		size;

		if (file == NULL)
			return 1;
		size = fread(data, 1, sizeof(data), file);
		fclose(file);
		copy = malloc(size + 1);
		for (size_t k = 0; k < size; k++)
			copy[k] = data[k];
		LLVMFuzzerTestOneInput(copy, size);
		free(copy);
	}
	printf("%d files\n", argc - 1);
	return 0;
}

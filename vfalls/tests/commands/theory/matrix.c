/*
 * A matrix product without the C library, so that it executes the same instructions at the same addresses on every host.
 * A product is added to the element that was just read, so that each store hits its line in the data cache.
 */

#define SIZE 96

double left[SIZE][SIZE], right[SIZE][SIZE], product[SIZE][SIZE];

void _start(void)
{
	for (int row = 0; row < SIZE; row++)
		for (int column = 0; column < SIZE; column++) {
			double sum = 0;
			for (int at = 0; at < SIZE; at++)
				sum += left[row][at] * right[at][column];
			product[row][column] += sum;
		}
	__asm__ volatile("syscall" : : "a"(60), "D"(0) : "memory");
	__builtin_unreachable();
}

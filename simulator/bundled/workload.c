/*
 * The program behind the bundled recording: the evening's accounts of a shop, done by eight clerks.
 *
 * Each clerk is a thread. All clerks begin a phase together. Each phase uses the memory of a machine with several nodes
 * in another way:
 *
 *   private work          each clerk loads, sorts, indexes and follows the orders of its own till, and transposes a table
 *   shared and read       all clerks look up prices in one list, which the first clerk wrote
 *   shared and written    all clerks take tickets from one counter, by atomic instructions
 *   migrating             a ledger goes from clerk to clerk, and each clerk writes to all of its lines
 *   false sharing         each clerk counts in its own counter: first, all counters are in one line; then, each counter
 *                         has a separate line
 *   one node's memory     all clerks read an archive that is in the memory of node 0
 *
 * The program reads no input, and does the same work in every run. README.md says how it is built and recorded.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>

/* A line of the L2 cache, in bytes. */
#define LINE 64
/* The number of consecutive bytes with one home node; this program assumes four nodes. */
#define PIECE 512
#define NODES 4

#define CLERKS 8
/* The number of orders of a till, a power of two, and the number of slots of its index. */
#define ORDERS 512
#define SLOTS 1024
/* The number of articles in the price list. */
#define ARTICLES 2048
/* The number of customers that a clerk serves, of pages (lines) of the ledger, and of rounds of the ledger. */
#define CUSTOMERS 500
#define PAGES 64
#define ROUNDS 12
/* The number of coins that a clerk counts, once for each kind of counter. */
#define COINS 2500
/* The number of pieces of the archive. */
#define ARCHIVE 256
/* The rows and columns of a sales table. The rows are 64 KB apart, so a column is in four sets of the L2 cache. */
#define ROWS 96
#define COLUMNS 32
#define PITCH 8192

#define APART __attribute__((noinline))
#define ALIGNED(bytes) __attribute__((aligned(bytes)))

/* An order, one line. */
struct order {
	uint64_t customer, article, quantity, price, next;
} ALIGNED(LINE);

/* What belongs to one clerk. */
struct till {
	struct order orders[ORDERS];
	uint32_t index[SLOTS];
	uint32_t by_price[ORDERS];
	uint64_t random, total;
	sem_t ledger_is_here;
} ALIGNED(PIECE);

struct article {
	uint64_t number, price;
};

struct counter {
	volatile uint64_t count;
} ALIGNED(LINE);

/* 512 bytes on node 0, and 512 unused bytes on each other node. */
struct archived {
	uint64_t sales[PIECE / sizeof(uint64_t)];
	unsigned char elsewhere[(NODES - 1) * PIECE];
} ALIGNED(NODES * PIECE);

static struct till tills[CLERKS];
static uint64_t sales[CLERKS][COLUMNS][PITCH];
/* A clerk uses columns in one piece of each row, so its table is on one node. The next clerk uses the next piece. */
static uint64_t turned[CLERKS][ROWS][PITCH] ALIGNED(NODES * PIECE);
static struct article price_list[ARTICLES] ALIGNED(PIECE);
static uint64_t tickets ALIGNED(LINE);
static struct counter ledger[PAGES];
static volatile uint64_t crowded[CLERKS] ALIGNED(LINE);
static struct counter roomy[CLERKS];
/* The archive is part of the program file and is never written, so it comes from memory, not from a node's cache. */
static const struct archived archive[ARCHIVE] = { [0 ... ARCHIVE - 1] = { .sales = { [0 ... 63] = 5 } } };

static pthread_barrier_t evening;

/* Knuth's linear congruential generator: the same orders in every run. */
static uint64_t below(uint64_t *random, uint64_t bound)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (*random >> 33) * bound >> 31;
}

/* ---- private work ---- */

APART static void load_orders(struct till *till)
{
	for (uint64_t number = 0; number < ORDERS; number++) {
		struct order *order = &till->orders[number];
		order->customer = number * 7 + 1;
		order->article = below(&till->random, ARTICLES) * 3;
		order->quantity = 1 + (till->random >> 60);
		/* The sequence has the full period modulo a power of two, so the chain visits every order once. */
		order->next = (number * 389 + 123) % ORDERS;
	}
}

static uint64_t slot_of(uint64_t customer)
{
	return customer * 0x9e3779b97f4a7c15u >> 54;
}

APART static void build_index(struct till *till)
{
	for (uint32_t number = 0; number < ORDERS; number++) {
		uint64_t slot = slot_of(till->orders[number].customer);
		while (till->index[slot] != 0)
			slot = (slot + 1) % SLOTS;
		till->index[slot] = number + 1;
	}
}

APART static struct order *find_order(struct till *till, uint64_t customer)
{
	uint64_t slot = slot_of(customer);
	while (till->orders[till->index[slot] - 1].customer != customer)
		slot = (slot + 1) % SLOTS;
	return &till->orders[till->index[slot] - 1];
}

APART static void sort_by_price(struct till *till, uint32_t *keys, uint32_t count)
{
	while (count > 1) {
		uint64_t pivot = till->orders[keys[(count - 1) / 2]].price;
		uint32_t low = 0, high = count - 1;
		for (;;) {
			while (till->orders[keys[low]].price < pivot)
				low++;
			while (till->orders[keys[high]].price > pivot)
				high--;
			if (low >= high)
				break;
			uint32_t key = keys[low];
			keys[low++] = keys[high];
			keys[high--] = key;
		}
		sort_by_price(till, keys + high + 1, count - high - 1);
		count = high + 1;
	}
}

APART static uint64_t follow_deliveries(struct till *till)
{
	uint64_t weight = 0, here = 0;
	do {
		weight += till->orders[here].quantity;
		here = till->orders[here].next;
	} while (here != 0);
	return weight;
}

APART static uint64_t turn_table(uint64_t (*from)[PITCH], uint64_t (*to)[PITCH])
{
	for (int column = 0; column < COLUMNS; column++)
		for (int row = 0; row < ROWS; row++)
			to[row][column] = from[column][row] + 1;
	return to[ROWS - 1][COLUMNS - 1];
}

/* ---- shared and read ---- */

APART static void write_price_list(void)
{
	for (uint64_t at = 0; at < ARTICLES; at++)
		price_list[at] = (struct article){ at * 3, at * 37 % 1009 + 1 };
}

APART static uint64_t look_up_price(uint64_t number)
{
	uint64_t low = 0, high = ARTICLES - 1;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (price_list[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return price_list[low].price;
}

APART static void price_orders(struct till *till)
{
	for (uint32_t number = 0; number < ORDERS; number++) {
		struct order *order = &till->orders[number];
		order->price = look_up_price(order->article);
		till->by_price[number] = number;
	}
}

/* ---- shared and written ---- */

APART static uint64_t take_ticket(void)
{
	return __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
}

APART static void serve_customers(struct till *till)
{
	for (int served = 0; served < CUSTOMERS; served++) {
		uint64_t ticket = take_ticket();
		find_order(till, ticket % ORDERS * 7 + 1)->quantity++;
	}
}

/* ---- migrating ---- */

APART static void write_ledger(uint64_t total)
{
	for (int page = 0; page < PAGES; page++)
		ledger[page].count += total + page;
}

APART static void pass_ledger(int clerk)
{
	for (int round = 0; round < ROUNDS; round++) {
		sem_wait(&tills[clerk].ledger_is_here);
		write_ledger(tills[clerk].total);
		sem_post(&tills[(clerk + 1) % CLERKS].ledger_is_here);
	}
}

/* ---- false sharing, and its repair ---- */

APART static void count_in_one_line(int clerk)
{
	for (int coin = 0; coin < COINS; coin++)
		crowded[clerk]++;
}

APART static void count_in_own_lines(int clerk)
{
	for (int coin = 0; coin < COINS; coin++)
		roomy[clerk].count++;
}

/* ---- one node's memory ---- */

APART static uint64_t read_archive(void)
{
	uint64_t total = 0;
	for (int piece = 0; piece < ARCHIVE; piece++)
		for (unsigned at = 0; at < PIECE / sizeof(uint64_t); at += LINE / sizeof(uint64_t))
			total += archive[piece].sales[at];
	return total;
}

static void *work(void *argument)
{
	struct till *till = argument;
	int clerk = till - tills;

	till->random = clerk + 1;
	load_orders(till);
	build_index(till);
	pthread_barrier_wait(&evening);

	price_orders(till);
	pthread_barrier_wait(&evening);

	sort_by_price(till, till->by_price, ORDERS);
	till->total = follow_deliveries(till) + till->orders[till->by_price[ORDERS / 2]].price;
	uint64_t *corner = &turned[clerk][0][clerk % NODES * PIECE / sizeof(uint64_t)];
	till->total += turn_table(sales[clerk], (uint64_t (*)[PITCH])corner);
	pthread_barrier_wait(&evening);

	serve_customers(till);
	pthread_barrier_wait(&evening);

	pass_ledger(clerk);
	pthread_barrier_wait(&evening);

	count_in_one_line(clerk);
	pthread_barrier_wait(&evening);

	count_in_own_lines(clerk);
	pthread_barrier_wait(&evening);

	till->total += read_archive() + crowded[clerk] + roomy[clerk].count;
	return NULL;
}

int main(void)
{
	pthread_t threads[CLERKS];
	uint64_t total = 0;

	pthread_barrier_init(&evening, NULL, CLERKS);
	for (int clerk = 0; clerk < CLERKS; clerk++)
		sem_init(&tills[clerk].ledger_is_here, 0, clerk == 0);
	write_price_list();
	/* The first clerk is this thread. */
	for (int clerk = 1; clerk < CLERKS; clerk++)
		if (pthread_create(&threads[clerk], NULL, work, &tills[clerk]) != 0)
			return 1;
	work(&tills[0]);
	for (int clerk = 1; clerk < CLERKS; clerk++)
		pthread_join(threads[clerk], NULL);
	for (int clerk = 0; clerk < CLERKS; clerk++)
		total += tills[clerk].total;
	printf("%llu %llu\n", (unsigned long long)total, (unsigned long long)ledger[PAGES - 1].count);
	return 0;
}

//! The program behind the bundled recording: the evening's accounts of a shop.
//!
//! It loads orders, indexes them by customer, answers queries (a few customers ask for most), sorts a day's
//! orders by price, follows the delivery chain in the order of dispatch, and turns a sales table. A few
//! functions do nearly all the work, with different habits: streaming, hashing, sorting, pointer chasing
//! and large strides. Its data, some five megabytes, do not fit a 4 MB cache.
//!
//! Deterministic, no input. See README.md for how it was built and recorded.

/// One order: 16 columns of 8 bytes, two cache lines of 64 bytes.
type Order = [u64; 16];

const CUSTOMER: usize = 0;
const PRICE: usize = 1;
const QUANTITY: usize = 8;
const NEXT: usize = 9;

/// Orders in the book, a power of two.
const ORDERS: usize = 1 << 15;
/// Slots of the index, a power of two.
const SLOTS: usize = 1 << 16;
/// Queries answered.
const QUERIES: usize = 10_000;
/// Orders of the day that is sorted.
const DAY: usize = 2_000;
/// Orders in the delivery chain.
const CHAIN: usize = 16_000;
/// Rows and columns of the sales table in use.
const TABLE: usize = 128;
/// Columns of the sales table as it is laid out: rows are 4 KB apart.
const PITCH: usize = 512;

/// Knuth's linear congruential generator: the same orders in every run.
struct Random(u64);

impl Random {
    /// The next draw, 31 bits.
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() * bound as u64 >> 31) as usize
    }
}

#[inline(never)]
fn load_orders(random: &mut Random) -> Vec<Order> {
    let mut orders = vec![[0; 16]; ORDERS];
    for (number, order) in orders.iter_mut().enumerate() {
        let dice = random.next();
        order[CUSTOMER] = number as u64 * 7 + 1;
        order[PRICE] = dice >> 7;
        order[QUANTITY] = dice & 15;
    }
    orders
}

fn slot_of(customer: u64) -> usize {
    (customer.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

#[inline(never)]
fn build_index(orders: &[Order]) -> Vec<u32> {
    let mut index = vec![0u32; SLOTS];
    for (number, order) in orders.iter().enumerate() {
        let mut slot = slot_of(order[CUSTOMER]);
        while index[slot] != 0 {
            slot = (slot + 1) & (SLOTS - 1);
        }
        index[slot] = number as u32 + 1;
    }
    index
}

#[inline(never)]
fn find(index: &[u32], orders: &[Order], customer: u64) -> Option<usize> {
    let mut slot = slot_of(customer);
    loop {
        let number = index[slot].checked_sub(1)? as usize;
        if orders[number][CUSTOMER] == customer {
            return Some(number);
        }
        slot = (slot + 1) & (SLOTS - 1);
    }
}

#[inline(never)]
fn answer_queries(index: &[u32], orders: &mut [Order], random: &mut Random) -> u64 {
    let mut total = 0;
    for _ in 0..QUERIES {
        let mut number = random.below(ORDERS);
        if number % 8 != 0 {
            number %= 64;
        }
        if let Some(found) = find(index, orders, number as u64 * 7 + 1) {
            let order = &mut orders[found];
            total += order[PRICE] * order[QUANTITY];
            order[QUANTITY] += 1;
        }
    }
    total
}

#[inline(never)]
fn sort_by_price(keys: &mut [u32], orders: &[Order]) {
    let mut rest = keys;
    while rest.len() > 12 {
        let middle = partition(rest, orders);
        let (low, high) = rest.split_at_mut(middle);
        let high = &mut high[1..];
        if low.len() < high.len() {
            sort_by_price(low, orders);
            rest = high;
        } else {
            sort_by_price(high, orders);
            rest = low;
        }
    }
    insertion_sort(rest, orders);
}

#[inline(never)]
fn partition(keys: &mut [u32], orders: &[Order]) -> usize {
    let last = keys.len() - 1;
    keys.swap(last / 2, last);
    let pivot = orders[keys[last] as usize][PRICE];
    let mut store = 0;
    for at in 0..last {
        if orders[keys[at] as usize][PRICE] < pivot {
            keys.swap(at, store);
            store += 1;
        }
    }
    keys.swap(store, last);
    store
}

#[inline(never)]
fn insertion_sort(keys: &mut [u32], orders: &[Order]) {
    for end in 1..keys.len() {
        let mut at = end;
        while at > 0 && orders[keys[at] as usize][PRICE] < orders[keys[at - 1] as usize][PRICE] {
            keys.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[inline(never)]
fn chain_deliveries(orders: &mut [Order], first: usize) {
    let mut here = first;
    for _ in 1..CHAIN {
        // Full period modulo a power of two: no order comes twice.
        let next = (here * 20_077 + 12_345) % ORDERS;
        orders[here][NEXT] = next as u64 + 1;
        here = next;
    }
}

#[inline(never)]
fn walk_deliveries(orders: &[Order], first: usize) -> u64 {
    let mut weight = 0;
    let mut here = first;
    loop {
        weight += orders[here][QUANTITY];
        match orders[here][NEXT].checked_sub(1) {
            Some(next) => here = next as usize,
            None => return weight,
        }
    }
}

#[inline(never)]
fn tabulate(orders: &[Order]) -> Vec<u64> {
    let mut table = vec![0; TABLE * PITCH];
    for order in orders.iter().step_by(4) {
        let row = order[CUSTOMER] as usize % TABLE;
        let column = order[PRICE] as usize % TABLE;
        table[row * PITCH + column] += order[QUANTITY];
    }
    table
}

#[inline(never)]
fn transpose(table: &[u64]) -> Vec<u64> {
    let mut turned = vec![0; TABLE * PITCH];
    for row in 0..TABLE {
        for column in 0..TABLE {
            turned[column * PITCH + row] = table[row * PITCH + column];
        }
    }
    turned
}

fn main() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut orders = load_orders(&mut random);
    let index = build_index(&orders);
    let total = answer_queries(&index, &mut orders, &mut random);
    let mut day: Vec<u32> = (0..DAY).map(|_| random.below(ORDERS) as u32).collect();
    sort_by_price(&mut day, &orders);
    let first = random.below(ORDERS);
    chain_deliveries(&mut orders, first);
    let weight = walk_deliveries(&orders, first);
    let turned = transpose(&tabulate(&orders));
    println!("{total} {} {weight} {}", day[DAY / 2], turned[PITCH + 1]);
}

// Reads all payments of a store page by page, as an export does, and prints their number and the milliseconds.
//   bun tests/bench/read_payments.ts sqlite:gateway.db
import process from "node:process";
import { openStore } from "../../lib/store/open.ts";
import type { PaymentPlace } from "../../lib/store/payment.ts";

const store = await openStore(process.argv[2]!);
const beganAt = performance.now();
let rows = 0;
let after: PaymentPlace | undefined;
while (true) {
  const page = await store.payments.list({ filter: {}, order: "desc", after, limit: 1_000 });
  rows += page.length;
  if (page.length < 1_000) break;
  after = page.at(-1)!;
}
process.stdout.write(JSON.stringify({ rows, ms: performance.now() - beganAt }) + "\n");
await store.close();

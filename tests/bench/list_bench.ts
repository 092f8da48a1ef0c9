import { type Figure, median, withSpread } from "./figures.ts";
import type { FilledStore, PaymentsBench } from "./payment_store.ts";

/** A device has a hundred payments, and its deep page must be full, too. */
const LIMIT = 20;
const REQUESTS = 100;

/** #11: a page of payments in the middle of all, with each filter, against the first page. */
export async function listFigure(
  { runtime, kind, payments, rounds }: PaymentsBench,
  { middleSeconds, merchant, deviceHash, agent }: FilledStore,
  { url, key }: { url: string; key: string },
): Promise<Figure> {
  async function page(query: Record<string, string>): Promise<{ cursor: string; times: string[] }> {
    const parameters = new URLSearchParams({ limit: String(LIMIT), ...query });
    const response = await fetch(`${url}/v1/payments?${parameters}`, { headers: { authorization: `Bearer ${key}` } });
    const body = await response.json();
    if (response.status !== 200 || body.payments.length !== Number(parameters.get("limit"))) {
      throw new Error(`${parameters} answered ${response.status} with ${body.payments?.length} payments`);
    }
    return { cursor: body.cursor, times: body.payments.map((one: { authorizedAt: string }) => one.authorizedAt) };
  }
  /** Milliseconds of a request. */
  async function timed(query: Record<string, string>): Promise<number> {
    const beganAt = performance.now();
    for (let request = 0; request < REQUESTS; request++) await page(query);
    return (performance.now() - beganAt) / REQUESTS;
  }
  const filters: Record<string, Record<string, string>> = {
    "no filter": {},
    state: { state: "claimed" },
    merchant: { merchant },
    deviceHash: { deviceHash },
    agent: { agent },
    "merchant and state": { merchant, state: "claimed" },
    "from": { from: "2025-01-01" },
  };
  const firsts: number[] = [];
  const ratios: [string, number[]][] = [];
  for (const [name, filter] of Object.entries(filters)) {
    const { cursor } = await page({ ...filter, to: String(middleSeconds), limit: "1" });
    const deep = { ...filter, cursor };
    const middle = new Date(middleSeconds * 1_000).toISOString();
    if ((await page(deep)).times.some((time) => time >= middle)) throw new Error(`the page of ${name} is not deep`);
    const measured = [];
    for (let round = 0; round <= rounds; round++) {
      const one = { firstMs: await timed(filter), deepMs: await timed(deep) };
      if (round > 0) measured.push(one);
    }
    firsts.push(...measured.map(({ firstMs }) => firstMs));
    ratios.push([name, measured.map(({ firstMs, deepMs }) => deepMs / firstMs)]);
  }
  const worst = ratios.toSorted(([, one], [, other]) => median(other) - median(one))[0]!;
  return {
    number: "11",
    work: `GET /v1/payments in the middle of ${payments} on ${kind}, each filter`,
    runtime,
    measured: ratios.map(([name, all]) => `${name} ${median(all).toFixed(2)}`).join(", "),
    reference: `the first page: ${withSpread(firsts, 1)} ms`,
    ratio: `at most ${withSpread(worst[1], 2)}`,
    goal: "≤ 1.3",
  };
}

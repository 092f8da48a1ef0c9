import { didYouMean } from "../lib/nearest.ts";
import type { Store } from "../lib/store/store.ts";
import { FAILED_STATES, failedDeliveries } from "../lib/webhooks/failed_deliveries.ts";
import { type CommandIo, UsageError } from "./command.ts";
import { type Column, tablePrinter } from "./terminal/table.ts";
import {
  ATTEMPT_COLUMNS,
  attemptJson,
  attemptTexts,
  FAILED_COLUMNS,
  failedJson,
  failedTexts,
} from "./webhook_table.ts";

export type FailedState = (typeof FAILED_STATES)[number];

/** What a page of a listing holds: however many there are, no more are in memory. */
const PAGE_SIZE = 200;

export interface DeliveriesCall {
  store: Store;
  io: CommandIo;
  /** Of the webhook. */
  id: string;
  most: number;
  json: boolean;
}

/**
 * The state that `--state` was given; undefined without one.
 * @throws {UsageError} when it is none
 */
export function stateFlag(text: string | undefined): FailedState | undefined {
  const state = FAILED_STATES.find((one) => one === text);
  if (text === undefined || state !== undefined) return state;
  const was = JSON.stringify(text) + didYouMean(text, FAILED_STATES);
  throw new UsageError(`--state must be one of ${FAILED_STATES.join(", ")}, got ${was}`);
}

/** Prints the newest attempts to deliver to a webhook. */
export async function printAttempts(call: DeliveriesCall): Promise<void> {
  const { store, io, id, json } = call;
  const count = await printPages(call, {
    columns: ATTEMPT_COLUMNS,
    texts: attemptTexts,
    json: attemptJson,
    place: ({ ordinal }) => ordinal,
    page: (before, limit) => store.deliveries.attempts(id, { before, limit }),
  });
  if (count === 0 && !json) io.stderr("there have been no attempts\n");
}

/** Prints the deliveries to a webhook that are kept in a state. */
export async function printFailed(call: DeliveriesCall, state: FailedState): Promise<void> {
  const { store, io, id, json } = call;
  const count = await printPages(call, {
    columns: FAILED_COLUMNS,
    texts: failedTexts,
    json: failedJson,
    place: ({ delivery }) => delivery.sequence,
    page: (beyond, limit) => failedDeliveries(store, id, { state, beyond, limit }),
  });
  if (count === 0 && !json) io.stderr(`no delivery is kept as ${state}\n`);
}

interface Listing<T> {
  columns: Column[];
  texts(item: T): string[];
  json(item: T): string;
  /** Where the next page goes on. */
  place(item: T): number;
  page(place: number | undefined, limit: number): Promise<T[]>;
}

/** Prints at most so many, page by page; answers how many there were. */
async function printPages<T>(
  { io, most, json }: DeliveriesCall,
  { columns, texts, json: text, place, page }: Listing<T>,
): Promise<number> {
  const print = tablePrinter(io, columns);
  let at: number | undefined;
  for (let count = 0;;) {
    const size = Math.min(most - count, PAGE_SIZE);
    const items = await page(at, size);
    for (const item of items) {
      if (json) io.stdout(text(item));
      else print([texts(item)]);
    }
    count += items.length;
    if (items.length < size || count === most) return count;
    at = place(items.at(-1)!);
  }
}

import { setTimeout as passed } from "node:timers/promises";
import { serverSentEvents } from "../../lib/client/server_sent_events.ts";
import { forTier } from "../tier.ts";
import type { FleetGateway } from "./fleet.ts";

export interface FleetAnswer {
  status: number;
  // deno-lint-ignore no-explicit-any -- the answers are of every shape
  body: any;
}

/** A client's time-out: a suspended gateway answers late, or never. */
const ANSWER_MS = 4_000;
/** The pause between the requests of a page reader, and of a client that exceeds its rate. */
const PAGES_PAUSE_MS = forTier({ test: 400, all: 100 });
const OVERLOAD_PAUSE_MS = forTier({ test: 100, all: 25 });
/** A live stream sends a frame at least every five seconds. */
const STREAM_SILENCE_MS = 12_000;

/** Sends one request to a gateway; undefined without a gateway or an answer. */
export async function ask(
  gateway: FleetGateway,
  apiKey: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<FleetAnswer | undefined> {
  const url = gateway.url();
  if (url === undefined) return undefined;
  try {
    const response = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return { status: response.status, body: await response.json() };
  } catch {
    return undefined;
  }
}

/** A client that reads the log at one gateway, and continues at its cursor at another one after a failure. */
export interface LogFollower {
  /** What it has read so far, the ids in their order. */
  ids: string[];
  /** Ends it. */
  stop(): Promise<void>;
}

/** Reads pages, each where it is told to. @param choose the gateway of the next page */
export function followPages(choose: () => FleetGateway, apiKey: string): LogFollower {
  const ids: string[] = [];
  let isOver = false;
  const following = (async () => {
    let after = "";
    for (; !isOver; await passed(PAGES_PAUSE_MS)) {
      const answer = await ask(choose(), apiKey, `/v1/events?limit=20${after}`);
      if (answer?.status !== 200) continue;
      for (const { id } of answer.body.events) ids.push(id);
      after = `&cursor=${encodeURIComponent(answer.body.cursor)}`;
    }
  })();
  return { ids, stop: () => (isOver = true, following) };
}

/** Reads a live stream until it breaks or is silent, and then another one from the last id. */
export function followStream(choose: () => FleetGateway, apiKey: string): LogFollower {
  const ids: string[] = [];
  let place = "";
  let isOver = false;
  let breakOff = new AbortController();

  async function readOne(url: string): Promise<void> {
    breakOff = new AbortController();
    const silence = setTimeout(() => breakOff.abort(), STREAM_SILENCE_MS);
    try {
      const headers = { authorization: `Bearer ${apiKey}`, ...(place === "" ? {} : { "last-event-id": place }) };
      const response = await fetch(`${url}/v1/events/stream`, { headers, signal: breakOff.signal });
      if (response.status !== 200) return void await response.body?.cancel();
      for await (const { event, data, id } of serverSentEvents(response.body!)) {
        silence.refresh();
        if (event === "message") ids.push(JSON.parse(data).id);
        place = id;
      }
    } catch {
      // It broke off.
    } finally {
      clearTimeout(silence);
    }
  }

  const following = (async () => {
    for (; !isOver; await passed(100)) {
      const url = choose().url();
      if (url !== undefined) await readOne(url);
    }
  })();
  return {
    ids,
    stop() {
      isOver = true;
      breakOff.abort();
      return following;
    },
  };
}

/** An admitted request. Monotonic ms. */
export interface Admission {
  sentAt: number;
  answeredAt: number;
}

/** Sends one gateway more requests than the key's rate allows, all the time. */
export function overload(gateway: FleetGateway, apiKey: string): { admissions: Admission[]; stop(): Promise<void> } {
  const admissions: Admission[] = [];
  let isOver = false;
  const asking = (async () => {
    for (; !isOver; await passed(OVERLOAD_PAUSE_MS)) {
      const sentAt = performance.now();
      const answer = await ask(gateway, apiKey, "/v1/network");
      if (answer?.status === 200) admissions.push({ sentAt, answeredAt: performance.now() });
    }
  })();
  return { admissions, stop: () => (isOver = true, asking) };
}

/** By how much requests exceed one bucket of this rate per minute, in the worst period. */
export function mostBeyondRate(admissions: Admission[], rate: number): number {
  const sorted = admissions.toSorted((a, b) => a.answeredAt - b.answeredAt);
  let worst = -Infinity;
  for (const { sentAt: fromAt } of sorted) {
    let count = 0;
    for (const { sentAt, answeredAt } of sorted) {
      if (sentAt < fromAt) continue;
      count += 1;
      worst = Math.max(worst, count - rate - rate * (answeredAt - fromAt) / 60_000);
    }
  }
  return worst;
}

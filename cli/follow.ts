import {
  createGatewayClient,
  type EventNotice,
  type Failure,
  FeedError,
  type GatewayEvent,
} from "../lib/client/client.ts";
import { sleep } from "../lib/clock.ts";
import { CommandError, type CommandIo } from "./command.ts";
import type { StreamFilter } from "./event_filter.ts";
import { exitCodeOf, leaveSoon, type StopSignal, untilAskedToStop } from "./running.ts";

export interface Following {
  /** `listen` or `tail`, for messages. */
  command: string;
  /** `https://…`, without a slash at its end. */
  gateway: string;
  apiKey: string;
  filter: StreamFilter;
  /** Begins with the events of this ledger. Without it, a time and `cursor`: with the events from now on. */
  fromLedger?: number;
  /** Only events from this time on, and before `to`, with which it ends. */
  from?: string;
  to?: string;
  /** Begins after this cursor instead. */
  cursor?: string;
  /** Whether to end after the stored events. */
  once?: boolean;
  /** Called once, before the first event. `afterLedger` is there when it begins now. */
  onBegin(afterLedger: number | undefined): void;
  /** Called for the notices between events. */
  onNotice?(notice: EventNotice): void;
  /** Called for each event; `cursor` continues after it. */
  onEvent(event: GatewayEvent, cursor: string | undefined): void | Promise<void>;
}

/** After so long without an answer the command fails. */
const GONE_MS = 60_000;
const PAUSE_MS = 1_000;

/**
 * Follows the events of a gateway with a key that may read: by its stream, or page by page where it has none. Returns the
 * exit code after a signal, or with `once` after the last stored event.
 * @throws {CommandError} when the gateway refuses, or does not answer for a minute
 */
export async function follow(following: Following, io: CommandIo): Promise<number> {
  const { command, gateway, apiKey, filter, cursor, from, to, once = false } = following;
  const client = createGatewayClient({ baseUrl: gateway, apiKey, maxWaitMs: GONE_MS });
  const stopping = new AbortController();
  let stoppedBy: StopSignal | undefined;
  void untilAskedToStop(() => {}).then((name) => {
    stoppedBy = name;
    stopping.abort();
  });
  const { signal } = stopping;
  let isReported = false;

  function reportAway(failure: Failure): void {
    if (isReported || signal.aborted) return;
    isReported = true;
    io.stderr(`gateway ${command}: the gateway at ${gateway} ${away(failure)}, retrying\n`);
  }

  async function latestLedger(): Promise<number> {
    const beganAt = performance.now();
    while (true) {
      const page = await client.eventPage({ limit: 1 }, { signal });
      if (page.ok) return page.latestLedger;
      if (page.retry !== "same" || performance.now() - beganAt > GONE_MS || signal.aborted) {
        throw refusal(gateway, page);
      }
      reportAway(page);
      await sleep(PAUSE_MS, signal);
    }
  }

  try {
    const isFromNow = [following.fromLedger, cursor, from, to].every((start) => start === undefined);
    const latest = isFromNow ? await latestLedger() : undefined;
    following.onBegin(latest);
    const fromLedger = latest === undefined ? following.fromLedger : latest + 1;
    const feed = client.events({
      ...filter,
      fromLedger,
      from,
      to,
      cursor,
      live: !once,
      signal,
      maxAwayMs: GONE_MS,
      onNotice(notice) {
        if (notice.type === "away") return reportAway(notice.failure);
        isReported = false;
        following.onNotice?.(notice);
      },
    });
    for await (const event of feed) await following.onEvent(event, feed.cursor);
  } catch (error) {
    if (!signal.aborted) throw error instanceof FeedError ? refusal(gateway, error.failure) : error;
  }
  // With `once` a signal leaves the output incomplete.
  return leaveSoon(once && stoppedBy !== undefined ? exitCodeOf(stoppedBy) : 0);
}

function away({ status }: Failure): string {
  return status === undefined ? "does not answer" : `answers with ${status}`;
}

function refusal(gateway: string, failure: Failure): CommandError {
  const { reason, status, message } = failure;
  if (reason === "unreachable") return new CommandError(`the gateway at ${gateway} does not answer`);
  const why = reason === "not_a_gateway"
    ? `answers with ${status}: is it a gateway?`
    : `refuses: ${reason}: ${message}`;
  return new CommandError(`the gateway at ${gateway} ${why}`);
}

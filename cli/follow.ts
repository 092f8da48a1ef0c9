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
  /** `listen`, `tail`: who says what is in the way. */
  command: string;
  /** `https://…`, without a slash at its end. */
  gateway: string;
  apiKey: string;
  filter: StreamFilter;
  /** Only events of this ledger or later ones; those after now when absent. */
  fromLedger?: number;
  /** Goes on after this cursor instead. */
  cursor?: string;
  /** Whether it ends when all that is held has been told. */
  once?: boolean;
  /** Told once it follows, and after which ledger where it begins now. */
  onBegin(afterLedger: number | undefined): void;
  /** Told what is said between events. */
  onNotice?(notice: EventNotice): void;
  /** Told each event; `cursor` goes on after it. */
  onEvent(event: GatewayEvent, cursor: string | undefined): void | Promise<void>;
}

/** How long a gateway may not answer before it is given up. */
const GONE_MS = 60_000;
const PAUSE_MS = 1_000;

/**
 * Follows the events of any gateway that its key may read: by its stream, or page by page where it has none. Answers the
 * exit code once it was asked to stop, or all is told.
 * @throws {CommandError} when the gateway refuses, or has not answered for a minute
 */
export async function follow(following: Following, io: CommandIo): Promise<number> {
  const { command, gateway, apiKey, filter, cursor, once = false } = following;
  const client = createGatewayClient({ baseUrl: gateway, apiKey, maxWaitMs: GONE_MS });
  const stopping = new AbortController();
  let stoppedBy: StopSignal | undefined;
  void untilAskedToStop(() => {}).then((name) => {
    stoppedBy = name;
    stopping.abort();
  });
  const { signal } = stopping;
  let isTold = false;

  function tellAway(failure: Failure): void {
    if (isTold || signal.aborted) return;
    isTold = true;
    io.stderr(`gateway ${command}: the gateway at ${gateway} ${away(failure)}: trying again\n`);
  }

  async function latestLedger(): Promise<number> {
    const beganAt = performance.now();
    while (true) {
      const page = await client.eventPage({ limit: 1 }, { signal });
      if (page.ok) return page.latestLedger;
      if (page.retry !== "same" || performance.now() - beganAt > GONE_MS || signal.aborted) {
        throw refusal(gateway, page);
      }
      tellAway(page);
      await sleep(PAUSE_MS, signal);
    }
  }

  try {
    const isFromNow = following.fromLedger === undefined && cursor === undefined;
    const latest = isFromNow ? await latestLedger() : undefined;
    following.onBegin(latest);
    const fromLedger = latest === undefined ? following.fromLedger : latest + 1;
    const feed = client.events({
      ...filter,
      fromLedger,
      cursor,
      live: !once,
      signal,
      maxAwayMs: GONE_MS,
      onNotice(notice) {
        if (notice.type === "away") return tellAway(notice.failure);
        isTold = false;
        following.onNotice?.(notice);
      },
    });
    for await (const event of feed) await following.onEvent(event, feed.cursor);
  } catch (error) {
    if (!signal.aborted) throw error instanceof FeedError ? refusal(gateway, error.failure) : error;
  }
  // What was to be told to its end was not.
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

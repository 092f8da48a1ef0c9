import type { Wait } from "../../clock.ts";
import type { StoredEvent } from "../../store/store.ts";
import type { Settlement } from "../../store/webhook_store.ts";
import type { Attempter, EventMessage } from "./attempt.ts";
import { breakAfter, healthAfter, isTroubled } from "./health.ts";
import { adapt, canPost, close, type CourierLimits, type Lane, TURN_POSTS } from "./lane.ts";

export interface PostingParts {
  attempt: Attempter;
  /** What is sent of an event. */
  message(event: StoredEvent): EventMessage;
  now(): number;
  wait: Wait;
  limits: CourierLimits;
  /** Takes down what an attempt came to. */
  settle(settlement: Settlement): void;
  /** Whether so much waits to be written down that nothing more may begin. */
  isClogged(): boolean;
  /** Called when something about a lane has changed. */
  onChange(lane: Lane): void;
  onProblem(message: string, cause: unknown): void;
}

/** Makes the posts of all lanes, as many at once as the limits allow. */
export interface Posting {
  /** The lane has something to post: it gets its turn. */
  offer(lane: Lane): void;
  /** Begins what may begin. */
  pump(): void;
  /** Begins nothing more, waits for what is under way at most so long, and cuts off the rest: it stays due. */
  stop(drainMs: number): Promise<void>;
}

interface Post {
  lane: Lane;
  startedAtMs: number;
  isTroubled: boolean;
}

/** How long a lane is left alone when something is wrong on this side. */
const PUT_OFF_MS = 5_000;

export function createPosting(parts: PostingParts): Posting {
  const { attempt, message, now, wait, limits, settle, isClogged, onChange, onProblem } = parts;
  const ready = { well: [] as Lane[], troubled: [] as Lane[] };
  /** In the order they began. */
  const underWay = new Set<Post>();
  const aborting = new AbortController();
  let troubledPosts = 0;
  let isStopping = false;
  let isPumping = false;
  let sweeping: Promise<void> | undefined;
  let onIdle: (() => void) | undefined;

  /** The posts of each lane in turn; those in trouble share a number of their own. */
  function pump(): void {
    if (isPumping || isStopping || isClogged()) return;
    isPumping = true;
    const hasRoom = () => underWay.size < limits.allPosts;
    while (ready.well.length > 0 && underWay.size - troubledPosts < limits.posts && hasRoom()) {
      turn(ready.well.shift()!);
    }
    while (ready.troubled.length > 0 && troubledPosts < limits.troubledPosts && hasRoom()) {
      turn(ready.troubled.shift()!);
    }
    isPumping = false;
  }

  function turn(lane: Lane): void {
    lane.isReady = false;
    if (!canPost(lane, now())) return;
    void post(lane);
    onChange(lane);
  }

  async function post(lane: Lane): Promise<void> {
    const { delivery, event } = lane.queue.shift()!;
    const begun: Post = { lane, startedAtMs: now(), isTroubled: isTroubled(lane.health) };
    underWay.add(begun);
    if (begun.isTroubled) troubledPosts++;
    lane.inFlight++;
    lane.turnPosts--;
    sweeping ??= sweep().finally(() => sweeping = undefined);
    try {
      const made = await attempt({ recipient: lane.recipient!, delivery, message: message(event) }, aborting.signal);
      // Of what a stop cut off nothing is known: it stays due.
      if (aborting.signal.aborted && made.outcome !== "delivered") return;
      adapt(lane, healthAfter(lane.health, made, limits.slowMs), limits.postsPerLane);
      settle({ lease: lane.lease, deliveryId: delivery.id, attempt: made });
      const breakMs = breakAfter(lane.health.failures);
      if (breakMs > 0) close(lane, { notBeforeMs: now() + breakMs });
    } catch (cause) {
      // Endpoints and networks do not get here: something is wrong on this side, and the delivery stays due.
      lane.held.delete(delivery.id);
      close(lane, { notBeforeMs: now() + PUT_OFF_MS });
      onProblem("a delivery could not be attempted", cause);
    } finally {
      underWay.delete(begun);
      if (begun.isTroubled) troubledPosts--;
      lane.inFlight--;
      if (underWay.size === 0) onIdle?.();
      onChange(lane);
      pump();
    }
  }

  /** A post that takes long counts among the troubled ones from then on, and makes room for a quick one. */
  async function sweep(): Promise<void> {
    while (underWay.size > 0 && !aborting.signal.aborted) {
      await wait(limits.slowMs / 2, aborting.signal);
      for (const begun of underWay) {
        if (now() - begun.startedAtMs < limits.slowMs) break;
        if (begun.isTroubled) continue;
        begun.isTroubled = true;
        troubledPosts++;
        begun.lane.health = { ...begun.lane.health, isSlow: true };
        begun.lane.limit = 1;
      }
      pump();
    }
  }

  return {
    offer(lane) {
      if (lane.isReady) return;
      lane.isReady = true;
      const lanes = isTroubled(lane.health) ? ready.troubled : ready.well;
      // First those whose turn has just begun or goes on: what is new does not wait behind what is much.
      if (lane.turnPosts > 0) {
        lanes.unshift(lane);
      } else {
        lane.turnPosts = TURN_POSTS;
        lanes.push(lane);
      }
    },
    pump,
    async stop(drainMs) {
      isStopping = true;
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
        if (underWay.size === 0) resolve();
      });
      const cut = new AbortController();
      if (drainMs > 0) await Promise.race([idle, wait(drainMs, cut.signal)]);
      cut.abort();
      aborting.abort();
      await idle;
      await sweeping;
    },
  };
}

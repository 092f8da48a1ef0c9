import { setImmediate } from "node:timers";
import { type Consumer, POSTS_IN_A_ROW } from "./consumer.ts";
import { hasBreaks, slowed } from "./endpoint.ts";

/** The limits of a delivery worker, so that no endpoint delays another. */
export interface WorkerLimits {
  /** Posts under way at once to endpoints that answer well. */
  posts: number;
  /** Posts under way at once to endpoints that fail or are slow. */
  troubledPosts: number;
  /** All posts under way, including those that became slow. */
  allPosts: number;
  /** Posts under way at once to one endpoint. */
  postsPerEndpoint: number;
  /** An answer that takes longer is slow. */
  slowMs: number;
}

export const WORKER_LIMITS: WorkerLimits = {
  posts: 256,
  troubledPosts: 64,
  allPosts: 1_024,
  postsPerEndpoint: 16,
  slowMs: 1_000,
};

/** A post under way. */
interface Slot {
  consumer: Consumer;
  startedAt: number;
  isTroubled: boolean;
}

/** Decides which consumer posts next: in turns, with separate limits for failing and slow ones. */
export function createPostQueue(limits: WorkerLimits) {
  const well: Consumer[] = [];
  const troubled: Consumer[] = [];
  /** In starting order. */
  const slots = new Set<Slot>();
  let troubledPosts = 0;
  let whenIdle = () => {};

  return {
    /** Queues a consumer that has something to post. */
    offer(consumer: Consumer): void {
      const { turn, endpoint } = consumer;
      if (turn.isWaiting) return;
      turn.isWaiting = true;
      // Consumers that back off go behind all others: one that is only slow does not wait for them.
      if (hasBreaks(endpoint)) return void troubled.push(consumer);
      const waiting = endpoint.state === "healthy" ? well : troubled;
      // A consumer with posts left goes first: new events do not wait behind a long queue.
      if (turn.postsLeft > 0) return void waiting.unshift(consumer);
      turn.postsLeft = POSTS_IN_A_ROW;
      waiting.push(consumer);
    },
    /** The consumer that posts next, if a slot is free. Offer it again afterwards. */
    next(): Consumer | undefined {
      if (slots.size >= limits.allPosts) return undefined;
      let consumer: Consumer | undefined;
      if (slots.size - troubledPosts < limits.posts) consumer = well.shift();
      if (consumer === undefined && troubledPosts < limits.troubledPosts) consumer = troubled.shift();
      if (consumer !== undefined) consumer.turn.isWaiting = false;
      return consumer;
    },
    begin(consumer: Consumer, nowAt: number): Slot {
      const slot = { consumer, startedAt: nowAt, isTroubled: consumer.endpoint.state !== "healthy" };
      slots.add(slot);
      if (slot.isTroubled) troubledPosts++;
      consumer.posts++;
      consumer.turn.postsLeft--;
      return slot;
    },
    end(slot: Slot): void {
      slots.delete(slot);
      if (slot.isTroubled) troubledPosts--;
      slot.consumer.posts--;
      if (slots.size === 0) whenIdle();
    },
    /** Counts a post that takes long as troubled, which frees a slot for a quick one. */
    sweep(nowAt: number): void {
      for (const slot of slots) {
        if (nowAt - slot.startedAt < limits.slowMs) break;
        if (slot.isTroubled) continue;
        slot.isTroubled = true;
        troubledPosts++;
        slot.consumer.endpoint = slowed(slot.consumer.endpoint);
      }
    },
    /** Resolves when no post is under way. */
    idle(): Promise<void> {
      return new Promise((resolve) => {
        whenIdle = resolve;
        if (slots.size === 0) resolve();
      });
    },
    get underWay() {
      return slots.size;
    },
  };
}

export type PostQueue = ReturnType<typeof createPostQueue>;

/**
 * Runs `work` once after all requests in this turn of the event loop. Posts that end together free slots for posts that
 * start together. Waking a receiver for each one costs the sender more than the post.
 */
export function oncePerTurn(work: () => void): () => void {
  let isAskedFor = false;
  return function askFor() {
    if (isAskedFor) return;
    isAskedFor = true;
    setImmediate(() => {
      isAskedFor = false;
      work();
    });
  };
}

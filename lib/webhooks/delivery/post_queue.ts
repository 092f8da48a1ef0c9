import { setImmediate } from "node:timers";
import { type Consumer, POSTS_IN_A_ROW } from "./consumer.ts";
import { hasBreaks, slowed } from "./endpoint.ts";

/** How far a delivery worker goes. All of it is bounded, so that no endpoint can hold up another. */
export interface WorkerLimits {
  /** Posts under way at once to endpoints that answer well. */
  posts: number;
  /** Posts under way at once to endpoints that fail or are slow. */
  troubledPosts: number;
  /** All posts under way, those included that became slow after they began. */
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
export interface Slot {
  consumer: Consumer;
  startedAt: number;
  isTroubled: boolean;
}

/** Which consumer posts next: each after the others, those in trouble within a number of their own. */
export interface PostQueue {
  /** The consumer has something to post. */
  offer(consumer: Consumer): void;
  /** The consumer that posts next, as long as there is room; it has to be offered again. */
  next(): Consumer | undefined;
  begin(consumer: Consumer, nowAt: number): Slot;
  end(slot: Slot): void;
  /** A post that takes long counts among the troubled ones from then on, and makes room for a quick one. */
  sweep(nowAt: number): void;
  readonly underWay: number;
}

export function createPostQueue(limits: WorkerLimits): PostQueue {
  const well: Consumer[] = [];
  const troubled: Consumer[] = [];
  /** In the order they began. */
  const slots = new Set<Slot>();
  let troubledPosts = 0;

  return {
    offer(consumer) {
      const { turn, endpoint } = consumer;
      if (turn.isWaiting) return;
      turn.isWaiting = true;
      // Those that are down wait for one another: who has only failed once, or is slow, does not wait for all of them.
      if (hasBreaks(endpoint)) return void troubled.push(consumer);
      const waiting = endpoint.state === "healthy" ? well : troubled;
      // First those with posts left: what is new does not wait behind what is much.
      if (turn.postsLeft > 0) return void waiting.unshift(consumer);
      turn.postsLeft = POSTS_IN_A_ROW;
      waiting.push(consumer);
    },
    next() {
      if (slots.size >= limits.allPosts) return undefined;
      let consumer: Consumer | undefined;
      if (slots.size - troubledPosts < limits.posts) consumer = well.shift();
      if (consumer === undefined && troubledPosts < limits.troubledPosts) consumer = troubled.shift();
      if (consumer !== undefined) consumer.turn.isWaiting = false;
      return consumer;
    },
    begin(consumer, nowAt) {
      const slot = { consumer, startedAt: nowAt, isTroubled: consumer.endpoint.state !== "healthy" };
      slots.add(slot);
      if (slot.isTroubled) troubledPosts++;
      consumer.posts++;
      consumer.turn.postsLeft--;
      return slot;
    },
    end(slot) {
      slots.delete(slot);
      if (slot.isTroubled) troubledPosts--;
      slot.consumer.posts--;
    },
    sweep(nowAt) {
      for (const slot of slots) {
        if (nowAt - slot.startedAt < limits.slowMs) break;
        if (slot.isTroubled) continue;
        slot.isTroubled = true;
        troubledPosts++;
        slot.consumer.endpoint = slowed(slot.consumer.endpoint);
      }
    },
    get underWay() {
      return slots.size;
    },
  };
}

/**
 * Does some work once, after all that asks for it in this turn of the event loop. What comes to an end in one turn makes
 * room for posts that are begun together: a receiver that each of them would wake by itself costs the sender more than the
 * post.
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

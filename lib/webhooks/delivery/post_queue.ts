import { type DeliveryReader, isDown, isTroubled, POSTS_IN_A_ROW } from "./reader.ts";

/** How far a courier goes. All of it is bounded, so that no endpoint can hold up another. */
export interface CourierLimits {
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

export const COURIER_LIMITS: CourierLimits = {
  posts: 256,
  troubledPosts: 64,
  allPosts: 1_024,
  postsPerEndpoint: 16,
  slowMs: 1_000,
};

/** A post under way. */
export interface Slot {
  reader: DeliveryReader;
  startedAt: number;
  isTroubled: boolean;
}

/** Which reader posts next: each after the others, those in trouble within a number of their own. */
export interface PostQueue {
  /** The reader has something to post. */
  offer(reader: DeliveryReader): void;
  /** The reader that posts next, as long as there is room; it has to be offered again. */
  next(): DeliveryReader | undefined;
  begin(reader: DeliveryReader, nowAt: number): Slot;
  end(slot: Slot): void;
  /** A post that takes long counts among the troubled ones from then on, and makes room for a quick one. */
  sweep(nowAt: number): void;
  readonly underWay: number;
}

export function createPostQueue(limits: CourierLimits): PostQueue {
  const well: DeliveryReader[] = [];
  const troubled: DeliveryReader[] = [];
  /** In the order they began. */
  const slots = new Set<Slot>();
  let troubledPosts = 0;

  return {
    offer(reader) {
      if (reader.isReady) return;
      reader.isReady = true;
      // Those that are down wait for one another: who has only failed once, or is slow, does not wait for all of them.
      if (isDown(reader)) return void troubled.push(reader);
      const waiting = isTroubled(reader) ? troubled : well;
      // First those with posts left: what is new does not wait behind what is much.
      if (reader.postsLeft > 0) return void waiting.unshift(reader);
      reader.postsLeft = POSTS_IN_A_ROW;
      waiting.push(reader);
    },
    next() {
      if (slots.size >= limits.allPosts) return undefined;
      let reader: DeliveryReader | undefined;
      if (slots.size - troubledPosts < limits.posts) reader = well.shift();
      if (reader === undefined && troubledPosts < limits.troubledPosts) reader = troubled.shift();
      if (reader !== undefined) reader.isReady = false;
      return reader;
    },
    begin(reader, nowAt) {
      const slot = { reader, startedAt: nowAt, isTroubled: isTroubled(reader) };
      slots.add(slot);
      if (slot.isTroubled) troubledPosts++;
      reader.inFlight++;
      reader.postsLeft--;
      return slot;
    },
    end(slot) {
      slots.delete(slot);
      if (slot.isTroubled) troubledPosts--;
      slot.reader.inFlight--;
    },
    sweep(nowAt) {
      for (const slot of slots) {
        if (nowAt - slot.startedAt < limits.slowMs) break;
        if (slot.isTroubled) continue;
        slot.isTroubled = true;
        troubledPosts++;
        slot.reader.isSlow = true;
        slot.reader.limit = 1;
      }
    },
    get underWay() {
      return slots.size;
    },
  };
}

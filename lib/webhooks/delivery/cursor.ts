import type { EventFilter } from "../../store/event.ts";
import { filterOf, type Replay, type Subscription } from "../../store/webhook.ts";

/** How far a consumer has come with new events, or with those of a replay. */
export interface Cursor {
  /** The log was scanned up to here: what matches is in `open`, or given to a commit. */
  scannedTo: number;
  /** Nothing behind this sequence was taken to be posted. */
  takenTo: number;
  /** Sequences that were read and not given to a commit yet. */
  open: Set<number>;
  /** As it was last given to a commit, and as the store last answered that it has it. */
  saved: number;
  written: number;
}

/** A replay under way. */
export interface ReplayCursor extends Cursor {
  id: string;
  filter: EventFilter;
  toHeight: number;
  /** Infinity until the watcher has scanned all that it is about. */
  endSequence: number;
  /** It is read no sooner, monotonic ms. */
  readAt: number;
  /** `done`: its end waits to be committed. `saved`: its end is in the batch that is being committed. `ended`: it was. */
  state: "open" | "done" | "saved" | "ended";
}

export function cursorAt(sequence: number): Cursor {
  return { scannedTo: sequence, takenTo: sequence, open: new Set(), saved: sequence, written: sequence };
}

/** Everything up to here is done with, or does not match. */
export function positionOf({ scannedTo, open }: Pick<Cursor, "scannedTo" | "open">): number {
  return open.size === 0 ? scannedTo : Math.min(...open) - 1;
}

export function openReplay(subscription: Subscription, replay: Replay): ReplayCursor {
  const { id, fromHeight, toHeight, cursor, endSequence } = replay;
  const filter = { ...filterOf(subscription), fromHeight, toHeight };
  const end = { endSequence: endSequence ?? Infinity, readAt: -Infinity };
  return { ...cursorAt(cursor), id, filter, toHeight, ...end, state: "open" };
}

/** Whether a replay has sent all that it is about, and all of it is given to a commit. */
export function isDone({ scannedTo, endSequence, open }: ReplayCursor): boolean {
  return scannedTo >= endSequence && open.size === 0;
}

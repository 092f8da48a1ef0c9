import type { EventFilter } from "../../store/event.ts";
import { filterOf, type Replay, type Subscription } from "../../store/webhook.ts";

/** The position of a consumer, or of its replay. Events after it are posted in their order. */
export interface Cursor {
  /** The log is read up to here. Matching events are in `open`, or passed to a commit. */
  scannedTo: number;
  /** How many events went back to the store. A read that began before one of them is void: it left the event out. */
  requeued: number;
  /** Sequences that were read and not passed to a commit. */
  open: Set<number>;
  /** Committed sequences after one in `open`: a read from `scannedTo` must leave them out. */
  beyond: Set<number>;
  /** The position last passed to a commit, and the one that the store last confirmed. */
  saved: number;
  written: number;
}

/** A replay under way. */
export interface ReplayCursor extends Cursor {
  id: string;
  filter: EventFilter;
  toHeight: number;
  /** Infinity until the watcher has scanned its range. */
  endSequence: number;
  /** The next read is not before this time (monotonic ms). */
  readAt: number;
  /** False once its end is passed to a commit. */
  isOpen: boolean;
}

export function cursorAt(sequence: number): Cursor {
  return { scannedTo: sequence, requeued: 0, open: new Set(), beyond: new Set(), saved: sequence, written: sequence };
}

/** All events up to here are finished or do not match. */
export function positionOf({ scannedTo, open }: Pick<Cursor, "scannedTo" | "open">): number {
  let position = scannedTo;
  for (const sequence of open) position = Math.min(position, sequence - 1);
  return position;
}

export function openReplay(subscription: Subscription, replay: Replay): ReplayCursor {
  const { id, fromHeight, toHeight, cursor, endSequence } = replay;
  const filter = { ...filterOf(subscription), fromHeight, toHeight };
  const end = { endSequence: endSequence ?? Infinity, readAt: -Infinity };
  return { ...cursorAt(cursor), id, filter, toHeight, ...end, isOpen: true };
}

/** Whether a replay has sent all its events and passed them to a commit. */
export function isDone({ scannedTo, endSequence, open }: ReplayCursor): boolean {
  return scannedTo >= endSequence && open.size === 0;
}

import { type Connection, createConnection } from "./connection.ts";
import { isReadOnly } from "./errors.ts";
import type { PostgresSetting } from "./setting.ts";

/** The connections of a store, at most `poolSize`. The pool opens one when there is work for it. */
export interface Pool {
  /**
   * Does the work on a connection: alone, or together with other work. Waits while all are busy. Work begins in the order of the
   * calls.
   */
  use<T>(isAlone: boolean, work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Replaces all connections. Statements under way have a moment to finish. */
  renew(): void;
  close(): Promise<void>;
}

/** How long statements under way may take after `renew` and `close`. */
const DRAIN_MS = 5_000;
const IDLE_MS = 300_000;
/** The age limit of a connection: the servers behind a name may change. */
const LIFE_MS = 45 * 60_000;
/** A connection that can only read is replaced at this age. */
const READ_ONLY_MS = 1_000;

interface Place {
  connection: Connection;
  openedAt: number;
  /** How many callers use it. */
  users: number;
  isAlone: boolean;
  idle: ReturnType<typeof setTimeout> | undefined;
}

interface Waiting {
  isAlone: boolean;
  begin(place: Place): void;
  refuse(cause: Error): void;
}

export function createPool(setting: PostgresSetting): Pool {
  const places = new Set<Place>();
  const ending = new Set<Promise<void>>();
  const waiting: Waiting[] = [];
  let isClosed = false;

  function open(): Place {
    const connection = createConnection(setting, () => {
      leave(place);
      serve();
    });
    const place: Place = { connection, openedAt: performance.now(), users: 0, isAlone: false, idle: undefined };
    places.add(place);
    return place;
  }

  function leave(place: Place): void {
    clearTimeout(place.idle);
    places.delete(place);
  }

  function end(place: Place): void {
    leave(place);
    const ended = place.connection.end(DRAIN_MS).finally(() => ending.delete(ended));
    ending.add(ended);
  }

  /** An idle connection, else a new one. Else, for work that need not be alone, the one with the fewest users. */
  function find(isAlone: boolean): Place | undefined {
    let found: Place | undefined;
    for (const place of places) {
      if (place.users === 0) return place;
      if (!isAlone && !place.isAlone && (found === undefined || place.users < found.users)) found = place;
    }
    return places.size < setting.poolSize ? open() : found;
  }

  function serve(): void {
    while (waiting.length > 0) {
      const place = find(waiting[0]!.isAlone);
      if (place === undefined) return;
      waiting.shift()!.begin(place);
    }
  }

  function take(place: Place, isAlone: boolean): void {
    clearTimeout(place.idle);
    place.users += 1;
    place.isAlone = isAlone;
  }

  /** A new connection may lead to the primary, where the name led to a standby. Not at each failure. */
  function leaveReadOnly(place: Place): void {
    if (places.has(place) && performance.now() - place.openedAt >= READ_ONLY_MS) end(place);
  }

  function giveBack(place: Place): void {
    place.users -= 1;
    place.isAlone = false;
    if (places.has(place) && place.users === 0) {
      if (performance.now() - place.openedAt >= LIFE_MS) end(place);
      else place.idle = setTimeout(() => end(place), IDLE_MS);
    }
    serve();
  }

  return {
    use: (isAlone, work) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(closedError());
        waiting.push({
          isAlone,
          refuse: reject,
          begin(place) {
            take(place, isAlone);
            work(place.connection).then(resolve, (error) => {
              reject(error);
              if (isReadOnly(error)) leaveReadOnly(place);
            }).finally(() => giveBack(place));
          },
        });
        serve();
      }),
    renew() {
      for (const place of [...places]) end(place);
      serve();
    },
    async close() {
      isClosed = true;
      for (const { refuse } of waiting.splice(0)) refuse(closedError());
      for (const place of [...places]) end(place);
      await Promise.all(ending);
    },
  };
}

function closedError(): Error {
  return Object.assign(new Error("the store is closed"), { code: "CONNECTION_ENDED" });
}

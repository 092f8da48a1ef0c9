/** The name of an intent: the client's `Idempotency-Key`, separate for each API key and each kind of request. */
export interface IntentName {
  keyId: string;
  kind: "transaction" | "webhook" | "replay";
  /** The header's value, at most 255 visible characters. */
  key: string;
}

/** A request that must take effect once, however often the client repeats it. */
export interface Intent {
  /** Digest of the request, 64 hex digits. */
  request: string;
  /** The result so far. Its JSON has at most `MAX_STATE_BYTES`. */
  state: unknown;
  /** Bytes of the result, at most `MAX_ENVELOPE_BYTES`. */
  envelope?: Uint8Array;
}

/** An intent as the store has it. */
export interface KeptIntent extends Intent {
  /** Another text with every write. */
  version: string;
  /** The last write, Unix ms: by the store's clock or the network's, whichever was later. */
  usedAtMs: number;
}

export type ListedIntent = IntentName & KeptIntent;

export interface NewIntent {
  name: IntentName;
  /** A new text, unlike any other. */
  version: string;
  intent: Intent;
  /** The most intents of the API key, and of all. Simultaneous calls may exceed a bound by their number. */
  mostOfKey: number;
  mostInAll: number;
  /** The network's time, Unix ms: the store's clock may be days behind. */
  atMs?: number;
}

/** `changed`: the intent has changed since the caller saw it. `full`: a new intent would exceed a bound. Both write nothing. */
export type IntentVerdict = "written" | "changed" | "full";

/** The limit of one value in Deno KV, less the other fields. */
export const MAX_STATE_BYTES = 60_000;
/** The network takes at most 132 096 bytes in protocol 27. */
export const MAX_ENVELOPE_BYTES = 150_000;

export interface IntentStore {
  /** The intent of this name, undefined when there is none. */
  get(name: IntentName): Promise<KeptIntent | undefined>;
  /**
   * Writes an intent if it is unchanged since the caller saw it. The store keeps it for seven days from the later of its own
   * clock and `atMs`. A write never shortens that. Durable when it resolves.
   * @param step `seen` is the version from `get`. Undefined: there was none
   */
  set(step: NewIntent & { seen: string | undefined }): Promise<IntentVerdict>;
  /** Every intent, in an order of the store's own: at most `limit` (≤ 500) after the one with the name `after`. */
  list(page: { after?: IntentName; limit: number }): Promise<ListedIntent[]>;
  /** Deletes at most 500 intents last written before this time. Returns their number. */
  prune(usedBeforeMs: number): Promise<number>;
}

/** Makes the intent of a creation. `state`: what the response to a repeated request needs. */
export type CreationIntent = (state: unknown) => NewIntent;

/** The failure of a creation because its intent was not written. */
export class IntentRefused extends Error {
  /** @throws {IntentRefused} unless the intent was written */
  static check(verdict: IntentVerdict): void {
    if (verdict !== "written") throw new IntentRefused(verdict);
  }

  constructor(readonly verdict: Exclude<IntentVerdict, "written">) {
    super(`the intent was not written: ${verdict}`);
    this.name = "IntentRefused";
  }
}

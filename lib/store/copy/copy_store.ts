import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { storableText } from "../codec.ts";
import { type Lease, type Store, StoreError, WATCHER_LEASE } from "../store.ts";
import { partitionLease, PARTITIONS } from "../webhook.ts";
import { type CopyKind, type Kind, KINDS, type Target } from "./kinds.ts";
import { again, COPY_REGISTER, type CopyMark, halfCopy } from "./mark.ts";

export interface CopyParts {
  /** Must not change during the copy. The comparison at the end finds a change, and the copy fails then. */
  source: Store;
  /** Opened with `isCopyTarget`, and used by no other caller. */
  target: Store;
  onProgress?(progress: CopyProgress): void;
}

/** The report after every page, and at the end of each kind. */
export interface CopyProgress {
  step: "copy" | "compare";
  kind: CopyKind;
  records: number;
  isKindDone: boolean;
}

/** The number of records of a kind, and their hash. Two stores with the same records have the same tally. */
export interface Tally {
  records: number;
  /** The sum of the SHA-256 of every record's canonical JSON, modulo 2^256, as 64 hex digits. It does not depend on the order. */
  hash: string;
}

const NAMES = Object.keys(KINDS) as CopyKind[];
const kindOf = (name: CopyKind) => KINDS[name] as Kind<unknown>;

/** Longer than any copy. The mark and the leases end with the copy. */
const LONGER_THAN_COPY_MS = 100 * 365 * 86_400_000;

/**
 * Copies a store into an empty one, of any driver, page by page, through the interface. The copy has the store's id and the
 * log's sequences, so clients' cursors stay valid. It has no leases. It numbers attempts from 1, and counts the failed
 * deliveries again: it knows only those with a row.
 *
 * Then compares both stores by number and hash of their records, and returns these. `openStore` opens the copy only after that.
 *
 * @throws StoreError `exists` when the target is not empty; `unavailable` when it is an unfinished copy, or the two differ at
 * the end
 */
export async function copyStore(
  { source, target, onProgress = () => {} }: CopyParts,
): Promise<Record<CopyKind, Tally>> {
  if (source.location === target.location) {
    throw new StoreError("exists", `${source.location} cannot be copied into itself: name another store`);
  }
  await begin(source, target);
  const leases = await acquireAll(target);
  const state = await source.events.watcherState();
  const filled: Target = { store: target, leases, watcher: leases.get(WATCHER_LEASE)!, state };
  for (const name of NAMES) {
    let records = 0;
    for await (const page of kindOf(name).pages(source)) {
      await kindOf(name).write(filled, storable(page));
      records += page.length;
      onProgress({ step: "copy", kind: name, records, isKindDone: false });
    }
    onProgress({ step: "copy", kind: name, records, isKindDone: true });
  }
  const tallies = await compare(source, target, onProgress);
  for (const lease of leases.values()) await target.leases.release([lease]);
  await target.network.adopt(source.id);
  // Expired by every clock: the gateway on the copy may have another one.
  await target.sharedState.change(COPY_REGISTER, (mark, nowMs) => ({ value: mark, keepMs: -nowMs, answer: undefined }));
  return tallies;
}

/** Marks the target, if it is empty. */
async function begin(source: Store, target: Store): Promise<void> {
  if (await target.sharedState.read(COPY_REGISTER) === undefined) await refuseUnlessEmpty(source, target);
  const mark: CopyMark = { from: { id: source.id, location: source.location } };
  await target.sharedState.change(COPY_REGISTER, (before: CopyMark | undefined) => {
    if (before !== undefined) throw halfCopy(target.location, before);
    return { value: mark, keepMs: LONGER_THAN_COPY_MS, answer: undefined };
  });
}

async function refuseUnlessEmpty(source: Store, target: Store): Promise<void> {
  if (target.id === source.id) {
    throw new StoreError("exists", `${target.location} is a whole copy of ${source.location} already`);
  }
  const holds: CopyKind[] = [];
  for (const name of NAMES) {
    for await (const _ of kindOf(name).pages(target)) {
      holds.push(name);
      break;
    }
  }
  if (holds.length === 0) return;
  throw new StoreError(
    "exists",
    `${target.location} is not empty, and nothing is ever overwritten (${holds.join(", ")}): name a new store`,
  );
}

async function acquireAll({ leases, location }: Store): Promise<Map<string, Lease>> {
  const holder = randomUUID();
  const names = [WATCHER_LEASE, ...Array.from({ length: PARTITIONS }, (_, n) => partitionLease(n))];
  const found = new Map<string, Lease>();
  for (const name of names) {
    const lease = await leases.acquire({ name, holder, durationMs: LONGER_THAN_COPY_MS });
    if (lease === undefined) throw new StoreError("locked", `a gateway uses ${location}: ${again(location)}`);
    found.set(name, lease);
  }
  return found;
}

/** Compares the two stores, and returns what both contain. */
async function compare(
  source: Store,
  target: Store,
  onProgress: (progress: CopyProgress) => void,
): Promise<Record<CopyKind, Tally>> {
  const tallies = {} as Record<CopyKind, Tally>;
  const differences: string[] = [];
  for (const kind of NAMES) {
    const report = (records: number, isKindDone: boolean) => onProgress({ step: "compare", kind, records, isKindDone });
    const [there, here] = await Promise.all([
      tallyOf(source, kind, (records) => report(records, false)),
      tallyOf(target, kind),
    ]);
    report(there.records, true);
    if (there.hash !== here.hash) differences.push(`${kind} (${there.records} and ${here.records} records)`);
    tallies[kind] = there;
  }
  if (differences.length === 0) return tallies;
  throw new StoreError(
    "unavailable",
    `${source.location} and its copy differ in ${differences.join(", ")}: a store has changed meanwhile. Remedy: ${
      again(target.location)
    }`,
  );
}

async function tallyOf(store: Store, name: CopyKind, onPage = (_records: number) => {}): Promise<Tally> {
  const { pages, compared = (record) => record } = kindOf(name);
  let records = 0;
  let sum = 0n;
  for await (const page of pages(store)) {
    records += page.length;
    for (const record of page) {
      const digest = createHash("sha256").update(canonicalJson(compared(record))).digest("hex");
      sum = BigInt.asUintN(256, sum + BigInt(`0x${digest}`));
    }
    onPage(records);
  }
  return { records, hash: sum.toString(16).padStart(64, "0") };
}

/** JSON with the keys of objects in order, and with texts that every store can keep. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(storable(value), (_, part) => {
    if (part instanceof Uint8Array) return Buffer.from(part).toString("base64");
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => one < other ? -1 : 1));
  });
}

/** The same value with texts that every store can keep. */
function storable<T>(value: T): T;
function storable(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map((one) => storable(one));
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, storable(part)]));
}

import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import { type Store, StoreError } from "../store.ts";
import {
  COPY_REGISTER,
  type CopyMark,
  TRANSFER_KINDS,
  type TransferKey,
  type TransferKind,
  type TransferStep,
} from "../transfer.ts";
import { pagesOf } from "./pages.ts";
import { canonicalJson, createTally, type Tally } from "./tally.ts";

export interface CopyParts {
  /** Nothing may change in it meanwhile: what does is found at the end, and the copy is refused then. */
  source: Store;
  /** Opened with `isCopyTarget`, and used by nobody else. */
  target: Store;
  onProgress?(progress: CopyProgress): void;
}

/** Told after every page, and at the end of each kind. */
export interface CopyProgress {
  step: "copy" | "compare";
  kind: TransferKind;
  /** Of this kind in this run. */
  records: number;
  isKindDone: boolean;
}

export interface CopyResult {
  /** Whether it went on with one that was begun before. */
  isResumed: boolean;
  /** What both stores hold. */
  tallies: Record<TransferKind, Tally>;
}

/** Longer than any copy waits to be gone on with; the mark never ends by itself. */
const MARK_MS = 100 * 365 * 86_400_000;

/**
 * Copies all that a store holds into an empty one, of any driver: with the store's id and the log's sequences, so that
 * clients' cursors stay good. Claims of intents and leases do not go with it. Then both are compared, record by record,
 * by count and hash; only after that `openStore` takes the copy. Killed at any moment it goes on when it is called again.
 *
 * @throws StoreError `exists` when the target holds anything but a begun copy of this very source; `unavailable` when the
 * source has changed since the copy was begun, or the two are not alike at the end; `fenced` when another copy took over
 */
export async function copyStore({ source, target, onProgress = () => {} }: CopyParts): Promise<CopyResult> {
  const run = randomBase62(22, randomBytes);
  const { mark, isResumed } = await begin(source, target, run);
  const todo = TRANSFER_KINDS.slice(TRANSFER_KINDS.indexOf(mark.kind));
  for (const kind of todo) await copyKind(kind, kind === mark.kind ? mark.after : []);
  const tallies = await compare(source, target, onProgress);
  await finish(target, run);
  return { isResumed, tallies };

  async function copyKind(kind: TransferKind, after: TransferKey): Promise<void> {
    let copied = 0;
    for await (const page of pagesOf(source, kind, after)) {
      // Just what is hashed, so that every store can keep it.
      const records = JSON.parse(canonicalJson(page));
      await target.transfer.write({ run, kind, records } as TransferStep);
      copied += page.length;
      onProgress({ step: "copy", kind, records: copied, isKindDone: false });
    }
    onProgress({ step: "copy", kind, records: copied, isKindDone: true });
  }
}

/** Begins the copy, or takes it over from whoever was at it before. */
async function begin(source: Store, target: Store, run: string): Promise<{ mark: CopyMark; isResumed: boolean }> {
  if (source.location === target.location) {
    throw new StoreError("exists", `${source.location} cannot be copied into itself: name another store`);
  }
  if (await target.registers.read(COPY_REGISTER) === undefined) await refuseUnlessEmpty(source, target);
  const from = { id: source.id, location: source.location };
  const first: CopyMark = { run, from, state: await stateOf(source), kind: TRANSFER_KINDS[0]!, after: [] };
  return await target.registers.change(COPY_REGISTER, (begun: CopyMark | undefined) => {
    if (begun !== undefined && begun.from.id !== source.id) {
      throw new StoreError(
        "exists",
        `${target.location} is half a copy of ${begun.from.location}: go on with that one, or name another store`,
      );
    }
    if (begun !== undefined && begun.state !== first.state) {
      throw new StoreError(
        "unavailable",
        `${source.location} has changed since its copy was begun: ${again(target)}`,
      );
    }
    const mark = { ...(begun ?? first), run };
    return { value: mark, keepMs: MARK_MS, answer: { mark, isResumed: begun !== undefined } };
  });
}

/** What is to be done when the two have come apart. */
function again(target: Store): string {
  return `stop all that uses the two stores, remove ${target.location} (the file with its -wal and -shm, or the schema in ` +
    "PostgreSQL), and copy again";
}

async function refuseUnlessEmpty(source: Store, target: Store): Promise<void> {
  if (target.id === source.id) {
    throw new StoreError("exists", `${target.location} is a whole copy of ${source.location} already`);
  }
  const [head] = await target.transfer.read({ kind: "store", after: [], limit: 1 });
  const [log] = await target.transfer.read({ kind: "log", after: [], limit: 1 });
  const holds = [
    ...(head!.network === null && head!.watcher === null && head!.secretsCheck === null ? [] : ["store"]),
    ...(log!.forgotten === 0 ? [] : ["log"]),
  ];
  for (const kind of TRANSFER_KINDS.filter((one) => one !== "store" && one !== "log")) {
    for await (const _ of pagesOf(target, kind)) {
      holds.push(kind);
      break;
    }
  }
  if (holds.length === 0) return;
  throw new StoreError(
    "exists",
    `${target.location} is not empty, and nothing is ever overwritten (${holds.join(", ")}): name a new store`,
  );
}

/** A gateway that serves moves the watcher on within seconds. */
async function stateOf({ transfer }: Store): Promise<string> {
  const tally = createTally();
  tally.add(await transfer.read({ kind: "store", after: [], limit: 1 }));
  return tally.result().hash;
}

/** What both hold. */
async function compare(
  source: Store,
  target: Store,
  onProgress: (progress: CopyProgress) => void,
): Promise<Record<TransferKind, Tally>> {
  const tallies = {} as Record<TransferKind, Tally>;
  const differences: string[] = [];
  for (const kind of TRANSFER_KINDS) {
    const told = (records: number, isKindDone: boolean) => onProgress({ step: "compare", kind, records, isKindDone });
    const [there, here] = await Promise.all([
      tallyOf(source, kind, (records) => told(records, false)),
      tallyOf(target, kind),
    ]);
    told(there.records, true);
    if (there.hash !== here.hash) differences.push(`${kind} (${there.records} and ${here.records} records)`);
    tallies[kind] = there;
  }
  if (differences.length === 0) return tallies;
  throw new StoreError(
    "unavailable",
    `${source.location} and its copy differ in ${differences.join(", ")}: something has changed meanwhile: ${
      again(target)
    }`,
  );
}

async function tallyOf(store: Store, kind: TransferKind, onPage = (_records: number) => {}): Promise<Tally> {
  const tally = createTally();
  for await (const page of pagesOf(store, kind)) {
    tally.add(page);
    onPage(tally.result().records);
  }
  return tally.result();
}

/** From here on it is a store like any other. */
async function finish(target: Store, run: string): Promise<void> {
  const isOwn = await target.registers.change(COPY_REGISTER, (mark: CopyMark | undefined, nowMs) => {
    // Over by every clock: who serves from it may have another one.
    return mark?.run === run ? { value: mark, keepMs: -nowMs, answer: true } : { keepMs: 0, answer: false };
  });
  if (!isOwn) throw new StoreError("fenced", `${target.location}: another copy into this store has taken over`);
}

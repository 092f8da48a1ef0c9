import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LedgerRecord } from "../../lib/sandbox/ledger/records.ts";
import type { StateEntry } from "../../lib/sandbox/ledger/state.ts";
import type { StateFile } from "../../lib/sandbox/ledger/state_file.ts";

/** The whole stored state of a network. */
export interface NetworkImage {
  kept: [string, string][];
  entries: [string, StateEntry][];
  ledgers: LedgerRecord[];
}

/** A state file in memory that records what a network writes. It keeps every ledger. */
export function recorder(): { stateFile: StateFile; image(): NetworkImage } {
  const kept = new Map<string, string>();
  const entries = new Map<string, StateEntry>();
  const ledgers: LedgerRecord[] = [];
  const stateFile: StateFile = {
    load: () => false,
    save(closed) {
      for (const { record, changes } of closed) {
        for (const [key, entry] of changes.entries()) {
          if (entry) entries.set(key, bare(entry));
          else entries.delete(key);
        }
        ledgers.push(record);
      }
    },
    returnTo: () => {
      throw new Error("a network that is recorded cannot be reverted");
    },
    keep: (name, text) => void kept.set(name, text),
    close: () => {},
  };
  return { stateFile, image: () => ({ kept: [...kept], entries: [...entries], ledgers }) };
}

/** Without the decoded account, which each network caches for itself. */
const bare = ({ account: _, ...entry }: StateEntry): StateEntry => entry;

/** A state file that restores this state and stores no later ledger. */
export function restored({ kept, entries, ledgers }: NetworkImage): StateFile {
  return {
    load(target) {
      for (const [name, text] of kept) target.kept.set(name, text);
      for (const record of ledgers) target.history.add(record);
      for (const [key, entry] of entries) target.state.restore(key, { ...entry });
      return true;
    },
    save: () => {},
    returnTo: () => {},
    keep: () => {},
    close: () => {},
  };
}

/** Writes the image into a new state file. */
export function writeImage({ kept, entries, ledgers }: NetworkImage, file: StateFile): void {
  const none: [string, StateEntry][] = [];
  const closed = ledgers.map((record, index) => ({
    record,
    changes: { entries: () => index === ledgers.length - 1 ? entries : none },
  }));
  file.save(closed, ledgers[0]!.sequence);
  for (const [name, text] of kept) file.keep(name, text);
}

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const CACHE = join(ROOT, "node_modules", ".cache", "gateway-tests");

/**
 * Returns the image of that name from the cache on disk, or makes and stores it. The sandbox's sources and wasm are part of
 * the key, so a change of them makes a new image.
 */
export async function cachedImage(name: string, make: () => Promise<NetworkImage>): Promise<NetworkImage> {
  const path = join(CACHE, `${createHash("sha256").update(name).update(sourcesHash()).digest("hex")}.json`);
  try {
    return decode(readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const text = encode(await make());
  mkdirSync(CACHE, { recursive: true });
  // By rename, so that another process or thread reads the whole file or none.
  const draft = `${path}.${crypto.randomUUID()}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
  return decode(text);
}

let hashed: string | undefined;

/** The hash of all that determines an image: the sandbox with its wasm, these two files, and the SDK's version. */
function sourcesHash(): string {
  if (hashed !== undefined) return hashed;
  const hash = createHash("sha256");
  const folder = join(ROOT, "lib", "sandbox");
  const isPart = (path: string) => /^(wasm.+wasm|ledger.+ts|[a-z_]+\.ts)$/.test(path);
  const own = ["network_image.ts", "ready_network.ts"].map((name) => join(ROOT, "tests", "sandbox", name));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(isPart).sort()
    .map((path) => join(folder, path));
  for (const file of [...files, ...own, join(ROOT, "package.json")]) hash.update(file).update(readFileSync(file));
  return hashed = hash.digest("hex");
}

/** As JSON: bytes as base64, integers as text. */
export function encode(image: NetworkImage): string {
  return JSON.stringify(image, (_, value) => {
    if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
    return typeof value === "bigint" ? { integer: value.toString() } : value;
  });
}

export function decode(text: string): NetworkImage {
  return JSON.parse(text, (_, value) => {
    if (typeof value?.base64 === "string") return new Uint8Array(Buffer.from(value.base64, "base64"));
    return typeof value?.integer === "string" ? BigInt(value.integer) : value;
  });
}

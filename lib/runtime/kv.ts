export type Kv = Deno.Kv;
export type KvKey = Deno.KvKey;
export type KvEntry<T> = Deno.KvEntry<T>;
export type KvEntryMaybe<T> = Deno.KvEntryMaybe<T>;
export type KvAtomic = Deno.AtomicOperation;
export type KvListSelector = Deno.KvListSelector;
/** A counter of Deno KV (`sum`). */
export type KvU64 = Deno.KvU64;

/**
 * Opens Deno KV; on Deno only.
 * @param path a local file; the platform's database when absent, which is the managed one on Deno Deploy
 */
export async function openKv(path?: string): Promise<Kv> {
  if (typeof Deno.openKv !== "function") {
    throw new Error("Deno KV is switched off: run with --unstable-kv, or from the directory of deno.json");
  }
  return await Deno.openKv(path);
}

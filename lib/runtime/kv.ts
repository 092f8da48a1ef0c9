export type Kv = Deno.Kv;
export type KvKey = Deno.KvKey;
export type KvEntry<T> = Deno.KvEntry<T>;
export type KvEntryMaybe<T> = Deno.KvEntryMaybe<T>;
export type KvAtomic = Deno.AtomicOperation;
export type KvListSelector = Deno.KvListSelector;
/** A counter as Deno KV keeps it (`sum`). */
export type KvU64 = Deno.KvU64;

/**
 * Opens Deno KV; on Deno only.
 * @param path a local file; absent: the platform's own database (on Deno Deploy the managed one)
 */
export async function openKv(path?: string): Promise<Kv> {
  if (typeof Deno.openKv !== "function") {
    throw new Error("Deno KV is switched off: run with --unstable-kv, or from the directory of deno.json");
  }
  return await Deno.openKv(path);
}

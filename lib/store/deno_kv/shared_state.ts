import type { NounDriver } from "../checked_store.ts";
import type { SharedStateStore } from "../shared_state.ts";
import { commit, type DenoKvContext, pageAfter } from "./database.ts";

interface RegisterEntry {
  /** `jsonBytes`. */
  value: Uint8Array;
  untilMs: number;
}

const REGISTERS = ["register"];
const registerKey = (name: string) => [...REGISTERS, name];

const PRUNED_AT_A_CALL = 500;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** JSON in UTF-8, so that its size is known. Deno KV would store some texts and numbers with two or three times the bytes. */
const jsonBytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

const fromBytes = (bytes: Uint8Array): unknown => JSON.parse(decoder.decode(bytes));

/** Small values that gateways change in turn. */
export function denoKvSharedState({ kv, now, retry }: DenoKvContext): NounDriver<SharedStateStore> {
  return {
    async read<T>(name: string) {
      return valueOf<T>((await kv.get<RegisterEntry>(registerKey(name))).value, now());
    },
    change: (name, change) =>
      retry(async () => {
        const entry = await kv.get<RegisterEntry>(registerKey(name));
        const nowMs = now();
        const { value, keepMs, answer } = change(valueOf(entry.value, nowMs), nowMs);
        if (value === undefined) return { done: answer };
        const atomic = kv.atomic().check(entry).set(entry.key, { value: jsonBytes(value), untilMs: nowMs + keepMs });
        return await commit(atomic) ? { done: answer } : undefined;
      }),
    list: async ({ after, limit }) =>
      (await pageAfter<RegisterEntry>(kv, REGISTERS, after === undefined ? [] : [after], limit))
        .map(({ key, value: { value, untilMs } }) => ({ name: key[1] as string, value: fromBytes(value), untilMs })),
    async prune(overBeforeMs) {
      let pruned = 0;
      for await (const entry of kv.list<RegisterEntry>({ prefix: REGISTERS }, { batchSize: 500 })) {
        if (entry.value.untilMs > Math.min(now(), overBeforeMs)) continue;
        if (await commit(kv.atomic().check(entry).delete(entry.key))) pruned += 1;
        if (pruned === PRUNED_AT_A_CALL) break;
      }
      return pruned;
    },
  };
}

function valueOf<T>(entry: RegisterEntry | null, nowMs: number): T | undefined {
  return entry === null || entry.untilMs <= nowMs ? undefined : fromBytes(entry.value) as T;
}

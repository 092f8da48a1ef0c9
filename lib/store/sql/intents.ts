import type { ListedIntent } from "../intent.ts";

/** What is listed of an intent, of its row. */
export function toListed(
  { result, ...intent }: Omit<ListedIntent, "result"> & { result: string | null },
): ListedIntent {
  return result === null ? intent : { ...intent, result };
}

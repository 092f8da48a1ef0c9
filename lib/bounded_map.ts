/**
 * A bounded map of the most recently used entries. It has two generations instead of a linked list, so that a hit in
 * the young one costs one look-up and no write. Entries unused for a whole generation go when the next one is full. It
 * holds at least `capacity` recent entries, at most twice as many.
 */
export interface RecentMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  clear(): void;
  readonly size: number;
}

export function createRecentMap<V>(capacity: number): RecentMap<V> {
  let young = new Map<string, V>();
  let old = new Map<string, V>();

  function set(key: string, value: V): void {
    if (young.size >= capacity && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }

  return {
    get(key) {
      const found = young.get(key);
      if (found !== undefined) return found;
      const older = old.get(key);
      if (older === undefined) return undefined;
      old.delete(key);
      set(key, older);
      return older;
    },
    set,
    clear() {
      young = new Map();
      old = new Map();
    },
    get size() {
      return young.size + old.size;
    },
  };
}

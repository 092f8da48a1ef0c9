import type { Store } from "../../lib/store/store.ts";

type Bends = { [Noun in keyof Store]?: Store[Noun] extends object ? Partial<Store[Noun]> : never };

/** The same store, some methods of some nouns being these. */
export function bentStore(store: Store, bends: Bends): Store {
  const bent = Object.create(store) as Store;
  for (const [noun, methods] of Object.entries(bends)) {
    const whole = Object.assign(Object.create(store[noun as keyof Store] as object), methods);
    Object.defineProperty(bent, noun, { value: whole });
  }
  return bent;
}

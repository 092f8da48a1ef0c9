import type { Model, State } from "./quint.ts";

export interface Exploration {
  /** Different states that were seen. */
  states: number;
  /** All states that so many steps lead to were seen. */
  depth: number;
  /** Whether no state was left out: every step from every state leads to one that was seen. */
  isWhole: boolean;
  /** The shortest way to a state in which an invariant does not hold. */
  broken?: { invariant: string; trace: State[] };
}

function fingerprint(text: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}

/** A set of more numbers than one `Set` holds. */
function createSeen() {
  const parts = Array.from({ length: 64 }, () => new Set<number>());
  let size = 0;
  return {
    add(value: number): boolean {
      const part = parts[value % 64]!;
      const before = part.size;
      part.add(value);
      const isNew = part.size > before;
      if (isNew) size++;
      return isNew;
    },
    get size() {
      return size;
    },
  };
}

/**
 * Looks at every state of a model, nearest first, until an invariant breaks or `most` states were seen. States are told
 * apart by 53 bits: of ten million, two are taken for one with a chance of one in two hundred.
 */
export function explore(model: Model, invariants: string[], { look, most, onDepth = () => {} }: {
  /** The canonical form of a state: states with the same form count as one. */
  look(state: State): string;
  most: number;
  onDepth?(depth: number, states: number): void;
}): Exploration {
  interface Step {
    state: State;
    before?: Step;
  }
  const seen = createSeen();
  const brokenBy = (state: State) => invariants.find((name) => !model.value(name, state));
  function traceOf(last: Step): State[] {
    const trace: State[] = [];
    for (let step: Step | undefined = last; step !== undefined; step = step.before) trace.unshift(step.state);
    return trace;
  }
  let reached: Step[] = model.init().map((state) => ({ state }));
  for (const { state } of reached) seen.add(fingerprint(look(state)));
  for (let depth = 0;; depth++) {
    onDepth(depth, seen.size);
    const next: Step[] = [];
    for (const step of reached) {
      for (const state of model.next(step.state)) {
        if (!seen.add(fingerprint(look(state)))) continue;
        const following = { state, before: step };
        const invariant = brokenBy(state);
        if (invariant !== undefined) {
          return { states: seen.size, depth, isWhole: false, broken: { invariant, trace: traceOf(following) } };
        }
        next.push(following);
      }
      if (seen.size >= most) return { states: seen.size, depth, isWhole: false };
    }
    if (next.length === 0) return { states: seen.size, depth, isWhole: true };
    reached = next;
  }
}

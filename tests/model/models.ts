import { type Exploration, explore } from "./explore.ts";
import { type Model, readModel, type State } from "./quint.ts";

/** A model, and what it is checked for. */
export interface Checked {
  name: "partitions" | "limiter";
  /** The invariants. */
  invariants: string[];
  /** Mistakes that break one of them. */
  flaws: string[];
  /** The canonical form of a state: gateways are interchangeable. */
  look(state: State): string;
  /** The bounds of the breadth-first search, of the search for each flaw, and of traces. */
  bounds: Record<"all" | "flaws" | "traces", Record<string, number>>;
  /** The actions that a trace takes less often, so that it makes progress. */
  rare: string[];
}

const withoutOrder = (gateways: [number, State][], more: (gateway: number) => unknown) =>
  gateways.map(([gateway, state]) => JSON.stringify([state, more(gateway)])).sort();

export const PARTITIONS_MODEL: Checked = {
  name: "partitions",
  invariants: ["oneTermCommits", "oneTrusts", "cursorIsSound", "nothingIsSkipped", "leaseIsUsed"],
  flaws: [
    "nothing is fenced",
    "settled under what is held",
    "a reader outlives its term",
    "trust begins with the answer",
    "a renewal does not ask for the term",
    "the cursor passes what is under way",
    "only what is trusted is opened",
  ],
  look: ({ taken: _taken, gateways, lease, ...rest }) =>
    JSON.stringify([
      rest,
      [lease.term, lease.left, lease.holder !== 0],
      withoutOrder(gateways, (gateway) => lease.holder === gateway),
    ]),
  bounds: {
    all: { GATEWAYS: 3, EVENTS: 2, TERMS: 3, ENDS: 1 },
    flaws: { GATEWAYS: 2, EVENTS: 2, TERMS: 3, ENDS: 0 },
    traces: { GATEWAYS: 3, EVENTS: 3, TERMS: 5, ENDS: 2 },
  },
  rare: ["tick", "crash", "stop"],
};

export const LIMITER_MODEL: Checked = {
  name: "limiter",
  invariants: ["sumIsKept", "restIsKept", "capacityIsKept"],
  flaws: [
    "what is given back is spent on",
    "a lease that is over is given back",
    "leases are not counted",
    "time to spend begins with the answer",
  ],
  look: ({ taken: _taken, ...state }) => JSON.stringify(state),
  bounds: {
    all: { GATEWAYS: 3, RATE: 60, TICK_MS: 4_000, LAST_TICK: 6 },
    flaws: { GATEWAYS: 1, RATE: 60, TICK_MS: 4_000, LAST_TICK: 4 },
    traces: { GATEWAYS: 3, RATE: 60, TICK_MS: 4_000, LAST_TICK: 100 },
  },
  rare: ["tick"],
};

/** @param flaw "none": the gateway as it is */
export function modelOf({ name }: Checked, flaw: string, bounds: Record<string, number>): Model {
  return readModel(new URL(`./${name}.qnt`, import.meta.url).pathname, name, { FLAW: flaw, ...bounds });
}

export function check(
  checked: Checked,
  flaw: string,
  bounds: Record<string, number>,
  options: { most: number; onDepth?(depth: number, states: number): void },
): Exploration {
  return explore(modelOf(checked, flaw, bounds), checked.invariants, { look: checked.look, ...options });
}

/** The way that takes the same steps as another, as far as this model takes them. */
export function follow(model: Model, steps: State[]): State[] {
  const trace = model.init();
  for (const { taken } of steps.slice(1)) {
    const next = model.next(trace.at(-1)!).find((state) => JSON.stringify(state.taken) === JSON.stringify(taken));
    if (next === undefined) break;
    trace.push(next);
  }
  return trace;
}

/** A way through a model, chosen by a seed. */
export function walk({ rare }: Checked, model: Model, random: () => number, steps: number): State[] {
  const trace = model.init();
  while (trace.length <= steps) {
    const all = model.next(trace.at(-1)!);
    const usual = all.filter(({ taken }) => !rare.includes(taken.what));
    const from = usual.length > 0 && random() < 0.8 ? usual : all;
    if (from.length === 0) break;
    trace.push(from[Math.floor(random() * from.length)]!);
  }
  return trace;
}

import { type Ailment, AILMENTS } from "./node.ts";
import { type Temper, TEMPERS } from "./receivers.ts";
import type { World } from "./world.ts";

/** What may go wrong in a world. */
export const MISFORTUNES = [
  "kill",
  "killAll",
  "stop",
  "pause",
  "ambush",
  "clock",
  "storeClock",
  "troubles",
  "ail",
  "prune",
  "lie",
  "temper",
  "burst",
  "reset",
] as const;
export type Misfortune = typeof MISFORTUNES[number];

/** What people do. */
export const DEEDS = ["makeHook", "removeHook", "rotate", "replay", "switchKey", "look", "hurry"] as const;
export type Deed = typeof DEEDS[number];

/** What an ambushed call of a machine finds: that the machine dies, stands still or is stopped in the middle of it. */
export const AMBUSHES = ["kill", "pause", "stop"] as const;

/** In the middle of which calls, by a part of their names. */
const AMBUSHED = ["post ", "deliveries.settle", "events.append", "intents.", "submissions.", "Transaction"];

const HOUR_MS = 3_600_000;
const DAYS_40_MS = 960 * HOUR_MS;
const CLOCK_STEPS_MS = [2_000, -2_000, 60_000, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, DAYS_40_MS, -DAYS_40_MS];

/** A choice, and how often it is made beside others. */
export type Weighted<T> = [what: T, weight: number][];

/** What kind of world it is: each has its own few misfortunes, so that rare ones come together, and often. */
export interface Climate {
  /** Several gateways on one store, or one after another on a store of its own. */
  isShared: boolean;
  gateways: number;
  nodes: number;
  pollMs: number;
  /** How long things go wrong. */
  lastsMs: number;
  misfortunes: Weighted<Misfortune>;
  /** The longest pause between two of them. */
  misfortuneEveryMs: number;
  /** How long it takes at most until a machine that died is there again. */
  restartMs: number;
  ambushes: typeof AMBUSHES[number][];
  ambushed: string[];
  clockStepsMs: number[];
  troubles: { crash: number; storeFault: number; stall: number };
  ailments: (keyof Ailment)[];
  tempers: Temper[];
  deeds: Weighted<Deed>;
  deedEveryMs: number;
  /** How many webhooks there are from the beginning, and how many of all keep the order. */
  hooks: number;
  ordered: number;
  /** How many events a ledger has at most. */
  eventsOfLedger: number;
  /** Requests in a minute that the keys of those in a hurry allow; one key each. */
  hurried: number[];
  /** How many pay. */
  payers: number;
  /** Probabilities of each ledger for each payment that waits: it is left for later, or for good, or fails. */
  payments: { late: number; never: number; fails: number };
}

/** Draws a world's climate. */
export function drawClimate(world: World): Climate {
  const isShared = world.chance(0.8);
  const payers = world.chance(0.35) ? world.integer(1, 4) : 0;
  const misfortunes = weights(world, MISFORTUNES, 0.3).filter(([what]) =>
    (what !== "storeClock" || isShared) && (what !== "reset" || payers === 0)
  );
  const often = () => world.random.pick([0.005, 0.03, 0.2]);
  return {
    isShared,
    gateways: isShared ? world.integer(1, 3) : 1,
    nodes: world.integer(1, 3),
    pollMs: world.random.pick([1_000, 1_000, 5_000]),
    lastsMs: world.integer(20_000, 120_000),
    misfortunes: misfortunes.length > 0 ? misfortunes : [["kill", 1]],
    misfortuneEveryMs: world.random.pick([2_000, 6_000, 20_000]),
    restartMs: world.random.pick([1_000, 20_000, 60_000]),
    ambushes: some(world, AMBUSHES),
    ambushed: some(world, AMBUSHED),
    clockStepsMs: some(world, CLOCK_STEPS_MS),
    troubles: {
      crash: world.chance(0.3) ? often() / 10 : 0,
      storeFault: world.chance(0.5) ? often() : 0,
      stall: world.chance(0.5) ? often() / 4 : 0,
    },
    ailments: some(world, AILMENTS),
    tempers: some(world, TEMPERS),
    deeds: weights(world, DEEDS, 0.5),
    deedEveryMs: world.random.pick([1_000, 5_000, 20_000]),
    hooks: world.integer(0, 6),
    ordered: world.random.pick([0, 0.2, 1]),
    eventsOfLedger: world.random.pick([1, 3, 12]),
    hurried: Array.from({ length: world.integer(0, 3) }, () => world.random.pick([20, 60, 120])),
    payers,
    payments: {
      late: world.random.pick([0, 0.3, 0.8]),
      never: world.random.pick([0, 0.1]),
      fails: world.random.pick([0, 0, 0.1]),
    },
  };
}

/** One of these, by their weights; undefined when there is none. */
export function pickWeighted<T>(world: World, choices: Weighted<T>): T | undefined {
  let left = world.random.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [what, weight] of choices) {
    left -= weight;
    if (left < 0) return what;
  }
  return undefined;
}

/** Each by this chance, some much more often than others. */
function weights<T>(world: World, all: readonly T[], chance: number): Weighted<T> {
  return all.flatMap((what) => world.chance(chance) ? [[what, world.random.pick([1, 3, 12])] as [T, number]] : []);
}

/** Each by half a chance; one at least. */
function some<T>(world: World, all: readonly T[]): T[] {
  const chosen = all.filter(() => world.chance(0.4));
  return chosen.length > 0 ? chosen : [world.random.pick(all)];
}

import { type Ailment, AILMENTS } from "./node.ts";
import { type Temper, TEMPERS } from "./receivers.ts";
import { Dice } from "./world.ts";

/** What may go wrong in a dice. */
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

/** What an ambushed call of a machine finds: that the machine dies, stands still or is stopped, or the store fails, in the middle of it. */
export const AMBUSHES = ["kill", "pause", "stop", "fault"] as const;

/** In the middle of which calls, by a part of their names. */
const AMBUSHED = [
  "post ",
  "deliveries.",
  "events.append",
  "intents.",
  "submissions.",
  "subscriptions.",
  "sharedState.change",
  "leases.",
  "Transaction",
];

const HOUR_MS = 3_600_000;
const DAYS_40_MS = 960 * HOUR_MS;
const CLOCK_STEPS_MS = [2_000, -2_000, 60_000, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, DAYS_40_MS, -DAYS_40_MS];

/** A choice, and how often it is made beside others. */
export type Weighted<T> = [what: T, weight: number][];

/** What kind of world it is: each has its own few misfortunes, so that rare ones come together, and often. */
export interface Climate {
  /** Several gateways on one store, or one after another on a store of its own. */
  isShared: boolean;
  /** They are isolates, as on Deno Deploy: crons take turns instead of loops, and nobody stops them. */
  isTurned: boolean;
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
  /** How many pay past the gateways. */
  strangers: number;
  /** They pay without a key, and go by what prepare warns of. */
  isKeyless?: true;
  /** Some of those begin with a key, and go on without it. */
  losesKeys?: true;
  /**
   * Probabilities of each ledger for each payment that waits: it is left for later, or for good, or fails; `refuses`: that
   * a node turns down what it is sent, though another has it.
   */
  payments: { late: number; never: number; fails: number; refuses: number };
  /** How many look at cards again and again: on networks that are not reset. */
  lookers: number;
  /** How many read the history on from its beginning, by cursor and by live stream: two at most. */
  followers: number;
  /** How many ask for a part of the history. */
  askers: number;
  /** How many webhooks are asked for twice at once, of all. */
  doubled: number;
  /** Who was refused for its rate comes back when it was told to. */
  comesBack: boolean;
  /** For how many days events are kept; 0: for ever. No world lasts that long. */
  retentionDays: number;
  /** Webhooks' secrets are kept sealed. */
  isSealed: boolean;
  /** Nodes show the network before its reset again, for minutes. */
  lingers: boolean;
  /** So many of ten events every second endpoint can never take. Few: to one that fails mostly the rest comes late. */
  untakeable: number;
  /** How many of a ledger's events at most are none that the gateway knows. */
  unknownEvents: number;
}

/** Apart from the dice of all else. */
const TURNS = 4_000_000_007;
const REFUSALS = 5_000_000_029;
const KEEPING = 7_000_000_001;
const LINGERING = 9_000_000_001;
const PICKING = 11_000_000_003;
const PASSING = 16_000_000_057;
/** By these nobody asks in the worlds that were kept before anybody did: they are as they were. */
const ASKING = 13_000_674_179;

/** The longest time that nodes show a network that is no more: longer than gateways hold on to what nobody speaks for. */
export const LINGERING_MS = 380_000;

/** Draws a world's climate. */
export function drawClimate({ seed, fate: dice }: { seed: number; fate: Dice }): Climate {
  const isShared = dice.chance(0.8);
  const payers = dice.chance(0.35) ? dice.integer(1, 4) : 0;
  const misfortunes = weights(dice, MISFORTUNES, 0.3).filter(([what]) =>
    (what !== "storeClock" || isShared) && (what !== "reset" || payers === 0)
  );
  const has = (misfortune: Misfortune) => misfortunes.some(([what]) => what === misfortune);
  // With nodes that hold minutes only, there is soon nothing to tell the former network by.
  const lingers = has("reset") && !has("prune") && new Dice(seed + LINGERING).chance(0.1);
  const keeping = new Dice(seed + KEEPING);
  const lookers = keeping.chance(0.3) ? keeping.integer(1, 3) : 0;
  const picking = new Dice(seed + PICKING);
  const passing = new Dice(seed + PASSING);
  const asking = new Dice(seed + ASKING);
  const asks = asking.chance(0.2);
  const often = () => dice.random.pick([0.005, 0.03, 0.2]);
  return {
    isShared,
    isTurned: isShared && new Dice(seed + TURNS).chance(0.15),
    gateways: isShared ? dice.integer(1, 3) : 1,
    nodes: dice.integer(1, 3),
    pollMs: dice.random.pick([1_000, 1_000, 5_000]),
    lastsMs: dice.integer(20_000, 120_000) + (lingers ? LINGERING_MS : 0),
    misfortunes: misfortunes.length > 0 ? misfortunes : [["kill", 1]],
    misfortuneEveryMs: dice.random.pick([2_000, 6_000, 20_000]),
    restartMs: dice.random.pick([1_000, 20_000, 60_000]),
    ambushes: some(dice, AMBUSHES),
    ambushed: some(dice, AMBUSHED),
    clockStepsMs: some(dice, CLOCK_STEPS_MS),
    troubles: {
      crash: dice.chance(0.3) ? often() / 10 : 0,
      storeFault: dice.chance(0.5) ? often() : 0,
      stall: dice.chance(0.5) ? often() / 4 : 0,
    },
    ailments: some(dice, AILMENTS),
    tempers: some(dice, TEMPERS),
    deeds: weights(dice, DEEDS, 0.5),
    deedEveryMs: dice.random.pick([1_000, 5_000, 20_000]),
    hooks: dice.integer(0, 6),
    ordered: dice.random.pick([0, 0.2, 1]),
    eventsOfLedger: dice.random.pick([1, 3, 12]),
    hurried: Array.from({ length: dice.integer(0, 3) }, () => dice.random.pick([20, 60, 120])),
    payers,
    strangers: passing.chance(0.2) ? passing.random.pick([1, 3]) : 0,
    payments: {
      late: dice.random.pick([0, 0.3, 0.8]),
      never: dice.random.pick([0, 0.1]),
      fails: dice.random.pick([0, 0, 0.1]),
      refuses: new Dice(seed + REFUSALS).random.pick([0, 0, 0.2, 0.5]),
    },
    lookers: has("reset") ? 0 : lookers,
    followers: 2,
    askers: asks ? asking.integer(1, 3) : 0,
    doubled: asks ? asking.random.pick([0, 0.5]) : 0,
    comesBack: asks && asking.chance(0.5),
    retentionDays: keeping.chance(0.3) ? 1 : 0,
    isSealed: keeping.chance(0.3),
    lingers,
    untakeable: picking.chance(0.2) ? picking.random.pick([1, 2]) : 0,
    unknownEvents: picking.chance(0.2) ? picking.random.pick([1, 5]) : 0,
  };
}

/** One of these, by their weights; undefined when there is none. */
export function pickWeighted<T>(dice: Dice, choices: Weighted<T>): T | undefined {
  let left = dice.random.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [what, weight] of choices) {
    left -= weight;
    if (left < 0) return what;
  }
  return undefined;
}

/** Each by this chance, some much more often than others. */
function weights<T>(dice: Dice, all: readonly T[], chance: number): Weighted<T> {
  return all.flatMap((what) => dice.chance(chance) ? [[what, dice.random.pick([1, 3, 12])] as [T, number]] : []);
}

/** Each by half a chance; one at least. */
function some<T>(dice: Dice, all: readonly T[]): T[] {
  const chosen = all.filter(() => dice.chance(0.4));
  return chosen.length > 0 ? chosen : [dice.random.pick(all)];
}

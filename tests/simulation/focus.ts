import { AMBUSHES, type Climate, LINGERING_MS, type Misfortune, MISFORTUNES } from "./climate.ts";
import { Dice } from "./world.ts";

// Worlds in which only some do something, so that what is rare among them happens several times as often in the same time.

/** Apart from the dice of all else. */
const FOCUSING = 12_000_000_017;
const LOSING = 15_006_000_001;

/** Nobody does anything. */
const ALL_QUIET = {
  payers: 0,
  strangers: 0,
  hooks: 0,
  deeds: [],
  hurried: [],
  lookers: 0,
  askers: 0,
  followers: 0,
  eventsOfLedger: 0,
  unknownEvents: 0,
  untakeable: 0,
  lingers: false,
} satisfies Partial<Climate>;

type Done = Partial<Climate> & Pick<Climate, "misfortunes">;

/** What is done, what may happen to those who do it, and in the middle of which calls. */
const FOCUSES = {
  payments: (dice: Dice, climate: Climate): Done => ({
    ...paid(dice, climate),
    ambushed: ["intents.", "submissions.", "Transaction"],
  }),
  keyless: (dice: Dice, climate: Climate, seed: number): Done => ({
    ...paid(dice, climate),
    ambushed: ["sharedState.", "submissions.", "Transaction"],
    isKeyless: true,
    ...(new Dice(seed + LOSING).chance(0.4) ? { losesKeys: true } : {}),
  }),
  claims: (dice: Dice): Done => ({
    ...read(dice, ["temper", "burst"]),
    ambushed: ["payments.", "events.append", "leases.", "getEvents", "getLedgerEntries", "getTransactions"],
    strangers: dice.random.pick([1, 2, 4]),
  }),
  history: (dice: Dice): Done => {
    return {
      ...read(dice, ["temper"]),
      ambushed: ["getEvents", "getHealth", "getLedgers", "events.", "leases.", "sharedState."],
      eventsOfLedger: dice.random.pick([1, 1, 3]),
      followers: 2,
    };
  },
  webhooks: (dice: Dice, climate: Climate): Done => ({
    misfortunes: some(dice, ["ail", "prune", "lie", "reset"]),
    ambushed: ["post ", "deliveries.", "leases.", "subscriptions.", "events."],
    hooks: 6,
    deeds: climate.deeds.filter(([what]) => what !== "hurry" && what !== "look"),
    eventsOfLedger: dice.random.pick([1, 3]),
    untakeable: dice.random.pick([0, 0, 2]),
  }),
  requests: (dice: Dice, climate: Climate): Done => ({
    misfortunes: some(dice, ["temper", "reset"]),
    ambushed: ["keys.", "sharedState.", "events.read", "subscriptions.", "intents."],
    deeds: climate.deeds,
    hurried: [20, 60],
    askers: 3,
    doubled: 0.5,
    comesBack: true,
    followers: 2,
    eventsOfLedger: 3,
  }),
};
export type Focus = keyof typeof FOCUSES;
export const FOCUS_NAMES = Object.keys(FOCUSES) as Focus[];

/** The climate of a world in which nothing is done but this, among many misfortunes. */
export function focused(climate: Climate, focus: Focus, seed: number): Climate {
  const dice = new Dice(seed + FOCUSING);
  const only: Done = { ...ALL_QUIET, ...FOCUSES[focus](dice, climate, seed) };
  const may = only.misfortunes.filter(([what]) => what !== "storeClock" || climate.isShared);
  // What nodes leave out until they hold it no more, nobody can know.
  const isForgotten = may.some(([what]) => what === "prune");
  const ailments = (only.ailments ?? climate.ailments).filter((what) => !isForgotten || what !== "withholds");
  return {
    ...climate,
    ...only,
    ailments: ailments.length > 0 ? ailments : ["lag"],
    misfortunes: may.length > 0 ? may : [["kill", 1]],
    lastsMs: dice.integer(100_000, 300_000) + (only.lingers ? LINGERING_MS : 0),
    ambushes: [...AMBUSHES],
    misfortuneEveryMs: dice.random.pick([2_000, 6_000]),
    restartMs: dice.random.pick([1_000, 1_000, 20_000]),
  };
}

/** The network is read, and nothing else. */
function read(dice: Dice, never: Misfortune[]): Done {
  const misfortunes = some(dice, never);
  const has = (kind: Misfortune) => misfortunes.some(([what]) => what === kind);
  return {
    misfortunes,
    ailments: ["lag", "withholds", "repeats", ...(dice.chance(0.5) ? ["showsFormer" as const] : [])],
    lingers: has("reset") && !has("prune") && dice.chance(0.1),
  };
}

/** Payments are made, and nothing else. */
function paid(dice: Dice, climate: Climate): Done {
  return {
    misfortunes: some(dice, ["prune", "temper", "burst", "reset"]),
    payers: dice.integer(2, 5),
    payments: {
      ...climate.payments,
      never: dice.random.pick([0, 0.1, 0.3]),
      refuses: dice.random.pick([0, 0.2, 0.5]),
    },
  };
}

/** Each but these by half a chance, some more often than others. */
function some(dice: Dice, never: Misfortune[]): Climate["misfortunes"] {
  const may = MISFORTUNES.filter((what) => !never.includes(what));
  return may.flatMap((what) => dice.chance(0.5) ? [[what, dice.random.pick([1, 3])] as [Misfortune, number]] : []);
}

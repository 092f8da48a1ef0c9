import type { Climate, Deed, Misfortune } from "./climate.ts";

// What kinds of world show what is rare in all of them: for planted bugs whose world is to be found again.

export type Kind = (climate: Climate) => boolean;

/** How much of what goes wrong is one of these. */
function share({ misfortunes }: Climate, ...kinds: Misfortune[]): number {
  const sum = (some: Climate["misfortunes"]) => some.reduce((total, [, weight]) => total + weight, 0);
  return sum(misfortunes.filter(([kind]) => kinds.includes(kind))) / sum(misfortunes);
}

const isRough = ({ misfortuneEveryMs }: Climate) => misfortuneEveryMs <= 6_000;
const does = ({ deeds }: Climate, deed: Deed) => deeds.some(([kind]) => kind === deed);
const setsClocksBy = ({ clockStepsMs }: Climate, leastMs: number) => clockStepsMs.some((ms) => ms >= leastMs);
const HOUR_MS = 3_600_000;

/** Nodes show some events only later. */
export const withheld: Kind = (climate) =>
  isRough(climate) && share(climate, "ail") > 0.3 && climate.ailments.includes("withholds") &&
  share(climate, "reset") === 0 && climate.eventsOfLedger > 1;

/** The same, and clocks are hours ahead. */
export const withheldByClock: Kind = (climate) => withheld(climate) && setsClocksBy(climate, HOUR_MS);

/** Those who pay where nodes turn down what others have taken in. */
export const paidAmongRefusals: Kind = (climate) =>
  climate.payers > 1 && climate.payments.refuses > 0.3 && share(climate, "kill", "killAll", "ambush", "troubles") > 0.2;

/** Those who pay at gateways that die again and again, just as they keep what an intent came to, too. */
export const paidAmongDeaths: Kind = (climate) =>
  isRough(climate) && climate.payers > 2 && climate.restartMs <= 20_000 &&
  share(climate, "kill", "killAll", "ambush") > 0.6;

/** Keys are disabled while clocks are set, and stores are slow. */
export const disabledByClock: Kind = (climate) =>
  isRough(climate) && does(climate, "switchKey") && climate.troubles.stall > 0 && share(climate, "troubles") > 0.1 &&
  (share(climate, "storeClock") > 0.3 || (!climate.isShared && share(climate, "clock") > 0.3));

/** Webhooks are made while the store fails in the middle of it, or gateways do. */
export const madeAmongFaults: Kind = (climate) =>
  isRough(climate) && does(climate, "makeHook") && climate.deedEveryMs <= 5_000 && climate.hooks < 4 &&
  share(climate, "troubles") > 0.3 && (climate.troubles.crash > 0.002 || climate.troubles.storeFault > 0.1);

/** Several deliver on stores that answer late, and nobody stands still. */
export const deliveredSlowly: Kind = (climate) =>
  climate.isShared && !climate.isTurned && climate.gateways > 1 && climate.hooks > 1 && climate.troubles.stall > 0 &&
  share(climate, "troubles") > 0.1 && climate.eventsOfLedger > 1 &&
  share(climate, "pause", "ambush", "storeClock") === 0;

/** Cards are looked at while nodes lag. */
export const shownAmongLag: Kind = (climate) =>
  climate.lookers > 0 && climate.nodes > 1 && climate.ailments.includes("lag") && share(climate, "ail") > 0.1;

/** What is past is sent again while gateways come and go. */
export const replayed: Kind = (climate) =>
  isRough(climate) && climate.hooks > 1 && does(climate, "replay") && climate.eventsOfLedger > 1 &&
  share(climate, "kill", "killAll", "stop", "ambush", "storeClock", "temper") > 0.2;

/** Events are kept for a day, by clocks that are days ahead. */
export const keptForADay: Kind = (climate) =>
  isRough(climate) && climate.retentionDays > 0 && setsClocksBy(climate, 24 * HOUR_MS) &&
  share(climate, "kill", "killAll", "stop") > 0.1;

/** Endpoints cannot take some of what they are sent. */
export const picky: Kind = (climate) => climate.untakeable > 0 && climate.hooks > 1 && climate.ordered < 1;

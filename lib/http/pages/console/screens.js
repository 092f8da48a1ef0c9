// @ts-check
import { forgetAssets } from "./assets.js";
import { forgetDeliveries } from "./deliveries.js";
import { fill, h, say } from "./dom.js";
import { follow } from "./feed.js";
import { tick } from "./format.js";
import { showTop } from "./top.js";
import { account } from "./screens/account.js";
import { card } from "./screens/card.js";
import { cards } from "./screens/cards.js";
import { events, oneEvent } from "./screens/events.js";
import { life } from "./screens/life.js";
import { overview } from "./screens/overview.js";
import { payments } from "./screens/payments.js";
import { transaction } from "./screens/transaction.js";
import { webhook } from "./screens/webhook.js";
import { webhooks } from "./screens/webhooks.js";

/** @typedef {import("./session.js").Session} Session */
/** The input of a screen: the id in its address, and a signal that aborts when the reader leaves the screen. */
/** @typedef {{ part: string, session: Session, signal: AbortSignal }} Visit */
/** @typedef {{ title: string, content: import("./dom.js").Child[] }} Screen */

/** @type {[path: RegExp, screen: (visit: Visit) => Screen][]} */
const SCREENS = [
  [/^$/, overview],
  [/^events$/, events],
  [/^events\/([\d-]+)$/, oneEvent],
  [/^cards$/, cards],
  [/^cards\/([0-9a-f]{64})$/, card],
  [/^transactions\/([0-9a-f]{64})$/, transaction],
  [/^accounts\/([GC][A-Z2-7]{55})$/, account],
  [/^payments$/, payments],
  [/^webhooks$/, webhooks],
  [/^webhooks\/(wh_\w+)$/, webhook],
  [/^sandbox$/, life],
];

/**
 * Shows the screen that the address names, at each change of the address, until the session ends.
 * @param {Session} session
 * @param {HTMLElement} main
 * @param {HTMLElement} head
 */
export function showScreens(session, main, head) {
  let leaving = new AbortController();
  session.signal.addEventListener("abort", () => leaving.abort());

  function show() {
    leaving.abort();
    leaving = new AbortController();
    const path = location.hash.replace(/^#\/?/, "");
    const [pattern, screen] = SCREENS.find(([pattern]) => pattern.test(path)) ?? [/^/, nowhere];
    const { title, content } = screen({ part: pattern.exec(path)?.[1] ?? "", session, signal: leaving.signal });
    fill(main, h("h1", {}, title), content);
    document.title = `${title} · Gateway console`;
    showTop(head, session, path);
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
    say(title);
  }

  forgetAssets(session.network?.assets);
  forgetDeliveries();
  addEventListener("hashchange", show, { signal: session.signal });
  const ticking = setInterval(tick, 1_000);
  session.signal.addEventListener("abort", () => clearInterval(ticking));
  show();
  if (session.network !== undefined) void follow(session.signal);
}

/** @returns {Screen} */
function nowhere() {
  return { title: "There is no such page", content: [h("p", {}, h("a", { href: "#/" }, "To the overview"))] };
}

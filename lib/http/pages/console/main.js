// @ts-check
import { listeners } from "./api.js";
import { fill, h, say } from "./dom.js";
import { follow } from "./feed.js";
import { tick } from "./format.js";
import { showTop } from "./top.js";
import { findSandbox } from "./session.js";
import { account } from "./screens/account.js";
import { card } from "./screens/card.js";
import { cards } from "./screens/cards.js";
import { events, oneEvent } from "./screens/events.js";
import { life } from "./screens/life.js";
import { overview } from "./screens/overview.js";
import { payments } from "./screens/payments.js";
import { signInScreen } from "./screens/sign_in.js";
import { transaction } from "./screens/transaction.js";
import { webhook } from "./screens/webhook.js";
import { webhooks } from "./screens/webhooks.js";

/** The page: who is not signed in sees the key's field, who is sees the screen that the address names. */

/** @typedef {import("./session.js").Session} Session */
/** What a screen is given: the parts of its address, and a signal that aborts when it is left. */
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

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const top_ = /** @type {HTMLElement} */ (document.getElementById("top"));

/** @type {Session | undefined} */
let session;
let leaving = new AbortController();

/** Shows the screen of the address. @param {boolean} isMoved whether somebody went there: then it is told and begins at its top */
function show(isMoved) {
  leaving.abort();
  leaving = new AbortController();
  if (session === undefined) return;
  const path = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
  const [pattern, screen] = SCREENS.find(([pattern]) => pattern.test(path)) ?? [/^/, nowhere];
  const { title, content } = screen({ part: pattern.exec(path)?.[1] ?? "", session, signal: leaving.signal });
  fill(main, h("h1", {}, title), content);
  document.title = `${title} · Gateway console`;
  showTop(top_, session, path);
  if (!isMoved) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
  say(title);
}

/** @returns {Screen} */
function nowhere() {
  return { title: "There is no such page", content: [h("p", {}, h("a", { href: "#/" }, "To the overview"))] };
}

/** @param {string} [why] why there is no session any more */
async function askForKey(why) {
  leaving.abort();
  session?.end();
  session = undefined;
  fill(top_);
  document.title = "Sign in · Gateway console";
  const sandbox = await findSandbox();
  signInScreen(main, { sandbox, why, onSession: begin });
}

/** @param {Session} begun */
function begin(begun) {
  session = begun;
  show(true);
  if (begun.network !== undefined) void follow(begun.signal);
}

listeners.signedOut = (why) => session !== undefined && void askForKey(why);
addEventListener("hashchange", () => show(true));
addEventListener("sign-out", () => void askForKey());
// A page that is kept for the way back must not keep the key.
addEventListener("pagehide", (event) => Reflect.get(event, "persisted") && void askForKey());
setInterval(tick, 1_000);
void askForKey();

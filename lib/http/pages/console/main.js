// @ts-check
import { listeners } from "./api.js";
import { fill } from "./dom.js";
import { findSandbox } from "./session.js";
import { signInScreen } from "./sign_in.js";

/** The page shows the field for the key, and after the sign-in the screens. They load while the reader types the key. */

/** @typedef {import("./session.js").Session} Session */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const head = /** @type {HTMLElement} */ (document.getElementById("top"));

/** @type {Session | undefined} */
let session;

/** @param {string} [why] the reason for the end of the session */
async function askForKey(why) {
  session?.end();
  session = undefined;
  fill(head);
  document.title = "Sign in · Gateway console";
  const sandbox = await findSandbox();
  signInScreen(main, { sandbox, why, onSession: begin });
}

/** @param {Session} begun */
async function begin(begun) {
  session = begun;
  const { showScreens } = await import("./screens.js");
  showScreens(begun, main, head);
}

listeners.signedOut = (why) => session !== undefined && void askForKey(why);
addEventListener("sign-out", () => void askForKey());
// The browser may cache the page for its back button. The key must not stay in it.
addEventListener("pagehide", (event) => Reflect.get(event, "persisted") && void askForKey());
// The hash of the address names the screen, so the skip link moves the focus without one.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
void askForKey();
addEventListener("load", () => void import("./screens.js"));

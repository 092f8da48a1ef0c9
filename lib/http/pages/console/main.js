// @ts-check
import { listeners } from "./api.js";
import { fill } from "./dom.js";
import { findSandbox } from "./session.js";
import { signInScreen } from "./sign_in.js";

/** The page: who is not signed in sees the key's field, who is sees the rest, which is loaded while the key is typed. */

/** @typedef {import("./session.js").Session} Session */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const head = /** @type {HTMLElement} */ (document.getElementById("top"));

/** @type {Session | undefined} */
let session;

/** @param {string} [why] why there is no session any more */
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
// A page that is kept for the way back must not keep the key.
addEventListener("pagehide", (event) => Reflect.get(event, "persisted") && void askForKey());
// The address is the screen's: the link past the navigation leads to its content without a place in the address.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
void askForKey();
addEventListener("load", () => void import("./screens.js"));

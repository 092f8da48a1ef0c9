// @ts-check
import { button, failure, fill, h } from "./dom.js";
import { signIn } from "./session.js";

/**
 * Asks for the key.
 * @param {HTMLElement} place
 * @param {{ sandbox: import("./session.js").SandboxInfo | undefined, why: string | undefined, onSession: (session: import("./session.js").Session) => void }} options
 */
export function signInScreen(place, { sandbox, why, onSession }) {
  const input = h("input", {
    id: "key",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    placeholder: "service_sk_…",
    "aria-describedby": "key-note",
  });
  const problem = h("div", {}, why && failure(`Signed out: ${why}.`));
  const submit = h("button", { type: "submit", class: "primary" }, "Sign in");

  /** @param {string} key */
  async function enter(key) {
    if (submit.disabled) return;
    submit.disabled = true;
    try {
      const session = await signIn(key.trim(), sandbox);
      input.value = "";
      onSession(session);
    } catch (error) {
      fill(problem, failure(error));
      submit.disabled = false;
      input.focus();
    }
  }

  const form = h(
    "form",
    {
      class: "panel sign-in",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void enter(input.value);
      },
    },
    h("span", { class: "mark large", "aria-hidden": "true" }),
    h("h1", {}, "Gateway console"),
    h("label", { for: "key" }, "API key"),
    input,
    h(
      "p",
      { id: "key-note", class: "dim" },
      "The key stays in this page's memory and goes to this gateway only. A reload removes it. The scopes read and webhooks show everything.",
    ),
    problem,
    h(
      "div",
      { class: "actions" },
      submit,
      sandbox && button("Use the sandbox's key", () => void enter(sandbox.apiKey)),
    ),
    sandbox &&
      h(
        "p",
        { class: "dim" },
        "This is a sandbox with a Stellar network of its own. Its key and accounts have no value elsewhere.",
      ),
  );
  fill(place, form);
  input.focus();
}

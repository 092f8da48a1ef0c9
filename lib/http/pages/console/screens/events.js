// @ts-check
/** @import { Event } from "../event_views.js" */
import { get } from "../api.js";
import { button, failure, fill, h, say } from "../dom.js";
import { EVENT_TYPES, eventDetails, eventList, typeTag } from "../event_views.js";
import { listen } from "../feed.js";
import { counted } from "../format.js";
import { gapNotes } from "../gap_notes.js";
import { isAddress } from "../../assets/strkey.js";

/** The number of new events that a paused list keeps. After more, it loads the list again. */
const MOST_WAITING = 500;

/** The filter of the last visit. */
let kept = { types: "", subject: "" };

/** New and past events, with a filter by type and by card or account. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function events({ signal }) {
  const place = h("div", { class: "panel wide" });
  let listSignal = new AbortController();

  const types = h(
    "select",
    { "aria-label": "Type of the events" },
    h("option", { value: "" }, "All types"),
    EVENT_TYPES.map((type) => h("option", { value: type }, type)),
  );
  types.value = kept.types;
  const subject = h("input", {
    type: "search",
    "aria-label": "Card, merchant or agent of the events",
    placeholder: "Card, merchant or agent",
    value: kept.subject,
    autocomplete: "off",
    spellcheck: "false",
  });
  const pause = button("Pause", () => setPaused(!isPaused), { "aria-pressed": "false" });

  let isPaused = false;
  /** @type {Event[]} */
  let waiting = [];
  /** The number of new events since the pause. */
  let came = 0;
  /** @type {Filter[]} */
  let filters = [];
  /**
   * One list for each filter.
   * @type {{ filter: Filter, list: ReturnType<typeof eventList> }[]}
   */
  let lists = [];

  /** @param {boolean} to */
  function setPaused(to) {
    isPaused = to;
    pause.setAttribute("aria-pressed", String(to));
    if (came > waiting.length) show();
    for (const event of waiting) add(event);
    forgetWaiting();
    say(to ? "Paused" : "Live again");
  }

  function forgetWaiting() {
    waiting = [];
    came = 0;
    labelPause();
  }

  function labelPause() {
    pause.textContent = !isPaused ? "Pause" : came === 0 ? "Resume" : `Resume, ${counted(came, "new event")}`;
  }

  /** @param {Event} event */
  function add(event) {
    for (const { filter, list } of lists) if (matches(event, filter)) list.add(event);
  }

  function begin() {
    const named = { types: types.value, subject: subject.value.trim() };
    const found = filtersOf(named.types, named.subject);
    if (found === undefined) {
      subject.setCustomValidity("Enter a card in 64 hex digits, or a merchant or an agent, G… or C….");
      subject.reportValidity();
      return;
    }
    subject.setCustomValidity("");
    kept = named;
    filters = found;
    show();
  }

  /** Loads the list again. */
  function show() {
    listSignal.abort();
    listSignal = new AbortController();
    forgetWaiting();
    const bound = AbortSignal.any([signal, listSignal.signal]);
    lists = filters.map((filter) => ({ filter, list: eventList(filter, bound, "No event matches.") }));
    const places = lists.map(({ list }) => list.place);
    if (places.length === 1) fill(place, places);
    else fill(place, places.map((one, at) => [h("h2", {}, at === 0 ? "As the merchant" : "As the agent"), one]));
  }

  listen({
    event(event) {
      if (!filters.some((filter) => matches(event, filter))) return;
      if (!isPaused) return add(event);
      came += 1;
      if (waiting.length < MOST_WAITING) waiting.push(event);
      labelPause();
    },
  }, signal);
  types.addEventListener("change", begin);
  subject.addEventListener("change", begin);
  begin();
  const filterForm = h(
    "form",
    { class: "filters", onsubmit: (/** @type {Event_} */ event) => event.preventDefault() },
    types,
    subject,
    pause,
  );
  return { title: "Events", content: [filterForm, gapNotes(signal), place] };
}

/** @typedef {globalThis.Event} Event_ */
/** The parameters of a request. @typedef {Record<string, string>} Filter */

/** @param {Event} event @param {Filter} filter */
function matches(event, filter) {
  return Object.entries(filter).every(([name, value]) =>
    name === "types" ? event.type === value : Reflect.get(event, name) === value
  );
}

/**
 * The filters for the form; undefined when the text is no id. An account may be a merchant or an agent, which makes two lists.
 * @param {string} types
 * @param {string} subject
 * @returns {Filter[] | undefined}
 */
function filtersOf(types, subject) {
  /** @type {Filter} */
  const byType = types === "" ? {} : { types };
  if (subject === "") return [byType];
  if (/^[0-9a-f]{64}$/i.test(subject)) return [{ ...byType, deviceHash: subject.toLowerCase() }];
  return isAddress(subject) ? [{ ...byType, merchant: subject }, { ...byType, agent: subject }] : undefined;
}

/** One event. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function oneEvent({ part, signal }) {
  const place = h("div", { class: "panel wide" }, h("p", { class: "dim" }, "Loading …"));
  get(`v1/events/${part}`, {}, signal).then(
    (event) => fill(place, h("p", {}, typeTag(event.type)), eventDetails(event)),
    (error) => signal.aborted || fill(place, failure(error)),
  );
  return { title: "Event", content: [place] };
}

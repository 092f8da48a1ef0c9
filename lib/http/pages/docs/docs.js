// The documentation works without a script. This one adds search, tabs, copying, and examples with the values of this gateway.

import { addCopying } from "./copying.js";
import { followContents } from "./contents.js";
import { fillExamples } from "./examples.js";
import { workSearch } from "./search.js";

/** The gateway's root: this script lies beneath it, whatever prefix a proxy adds. */
const ROOT = new URL("..", import.meta.url);

/** Tabs as in the ARIA Authoring Practices. The chosen language stays chosen from page to page. */
let groups = 0;
/** @param {Element} box */
function makeTabs(box) {
  const group = groups++;
  const panels = [...box.querySelectorAll(":scope > section")];
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const tabs = panels.map((panel, index) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${group}-${index}`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id = `panel-${group}-${index}`);
    tab.textContent = panel.dataset.tab;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.querySelector("h4").remove();
    tab.addEventListener("click", () => choose(panel.dataset.tab));
    tab.addEventListener("keydown", ({ key }) => {
      const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
      if (step !== 0) choose(tabs[(index + step + tabs.length) % tabs.length].textContent, list);
    });
    return tab;
  });
  list.append(...tabs);
  box.prepend(list);
}

/** @param {string} name @param {Element} [focused] the list whose tab gets the focus */
function choose(name, focused) {
  for (const box of document.querySelectorAll(".tabs")) {
    const tabs = [...box.querySelectorAll("[role=tab]")];
    const chosen = tabs.find((tab) => tab.textContent === name);
    if (chosen === undefined && tabs.some((tab) => tab.ariaSelected === "true")) continue;
    for (const tab of tabs) {
      const isChosen = tab === (chosen ?? tabs[0]);
      tab.ariaSelected = String(isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
      if (isChosen && focused === tab.parentElement) tab.focus();
    }
  }
  try {
    localStorage.setItem("docs-language", name);
  } catch {
    // A browser may forbid storage. The choice then ends with the page.
  }
}

function chosenLanguage() {
  try {
    return localStorage.getItem("docs-language") ?? "";
  } catch {
    return "";
  }
}

addCopying(document.querySelector("article"));
for (const box of document.querySelectorAll(".tabs")) makeTabs(box);
choose(chosenLanguage() || "TypeScript");
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".menu").open = false;
const contents = document.querySelector(".contents");
if (contents !== null) followContents(contents);
workSearch(document.querySelector("#search"), ROOT);
const contracts = fillExamples(ROOT);
const box = document.querySelector("#envelope-box");
if (box !== null) import("./envelope_box.js").then(({ workEnvelopeBox }) => workEnvelopeBox(box, contracts));

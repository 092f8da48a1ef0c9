// Buttons that copy a block of code, or an id of which the page shows the two ends.

/** Adds the buttons. @param {Element} article */
export function addCopying(article) {
  for (const pre of article.querySelectorAll("pre")) {
    const figure = document.createElement("div");
    figure.className = "code";
    pre.replaceWith(figure);
    figure.append(pre, copyButton(pre));
  }
  for (const id of article.querySelectorAll(".id")) {
    if (id.closest("pre, a") !== null) continue;
    const button = copyButton(id);
    button.setAttribute("aria-label", `Copy ${id.title.slice(0, 4)}…${id.title.slice(-4)}`);
    const code = id.parentElement.localName === "code" ? id.parentElement : id;
    code.after(" ", button);
  }
}

/** @param {Element} source of the text, as it is at the click */
function copyButton(source) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const isCopied = await copy(source.textContent);
    button.focus();
    button.textContent = isCopied ? "Copied" : "Cannot copy";
    setTimeout(() => button.textContent = "Copy", 1_500);
  });
  return button;
}

/** @param {string} text @returns whether the clipboard has it */
async function copy(text) {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text).then(() => true, () => false);
  // Over plain HTTP a browser has no clipboard object, only this old command.
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

// Marks the section that is on screen in the contents of the page.

/** A section is current once its heading is this near to the top of the window, in CSS pixels. */
const CURRENT_BELOW = 120;

/** @param {HTMLDetailsElement} box */
export function followContents(box) {
  // Where the contents stand above the text, they are closed at first.
  if (matchMedia("(max-width: 75rem)").matches) box.open = false;
  const links = [...box.querySelectorAll("a")];
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  let isWaiting = false;
  function mark() {
    isWaiting = false;
    const current = links[currentOf(headings)];
    for (const link of links) {
      if (link === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
    const { offsetTop, offsetHeight } = current;
    if (offsetTop < box.scrollTop || offsetTop + offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = offsetTop - box.clientHeight / 2;
    }
  }
  function markSoon() {
    if (!isWaiting) requestAnimationFrame(mark);
    isWaiting = true;
  }
  addEventListener("scroll", markSoon, { passive: true });
  addEventListener("resize", markSoon, { passive: true });
  addEventListener("hashchange", markSoon);
  mark();
}

/** @param {HTMLElement[]} headings in order @returns the index of the current one */
function currentOf(headings) {
  const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
  const isAtEnd = scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 2;
  // The last sections cannot reach the top of the window.
  if (isAtEnd) {
    const target = headings.findIndex(({ id }) => id === decodeURIComponent(location.hash.slice(1)));
    const isVisible = target !== -1 && headings[target].getBoundingClientRect().top >= 0;
    return isVisible ? target : headings.length - 1;
  }
  return Math.max(0, headings.findLastIndex((heading) => heading.getBoundingClientRect().top <= CURRENT_BELOW));
}

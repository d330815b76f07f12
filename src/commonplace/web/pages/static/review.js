// Keys of the review page: j and k move between items, each answer has a key that decides the item with the focus, and
// a and x choose its first and its last answer. u undoes the decision of that item, or else the last decision.
(() => {
  "use strict";

  const pairs = () => [...document.querySelectorAll("[data-pair]")];
  const focused = () => document.activeElement?.closest("[data-pair]");
  let decided = null;
  const show = (pair) => {
    pair?.focus({ preventScroll: true });
    pair?.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    const step = { j: 1, k: -1 }[event.key];
    if (step) {
      const all = pairs();
      const here = all.indexOf(focused());
      show(here < 0 ? all[0] : all[Math.min(Math.max(here + step, 0), all.length - 1)]);
      return;
    }
    const undoes = (pair) => pair?.querySelector("[data-decided] button");
    const answers = [...(focused()?.querySelectorAll("[data-waits] button") || [])];
    const button = { a: answers[0], x: answers.at(-1), u: undoes(focused()) || undoes(decided) }[event.key] || [...(focused()?.querySelectorAll("[aria-keyshortcuts]") || [])]
      .find((each) => each.getAttribute("aria-keyshortcuts") === event.key);
    if (button && !event.repeat) button.click();
  });

  // A decided item gives the focus to the next waiting item; an item that waits again keeps the focus.
  document.addEventListener("htmx:afterSettle", (event) => {
    const pair = event.target.closest("[data-pair]");
    if (!pair) return;
    if (pair.querySelector("[data-decided]")) decided = pair;
    const all = pairs();
    const later = all.slice(all.indexOf(pair));
    show([...later, ...all].find((each) => each.querySelector("[data-waits]")) || pair);
  });

  if (document.activeElement === document.body) show(pairs()[0]);
})();

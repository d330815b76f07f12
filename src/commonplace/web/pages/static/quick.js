// The quick search: results while a person types, chosen with the arrow keys, each with its verbs. The focus stays in
// the field; aria-activedescendant names the chosen option. Without scripts, the field is a plain search form.
(() => {
  "use strict";

  const field = document.querySelector("[data-everywhere]");
  const panel = document.getElementById("quick");
  const status = document.getElementById("quick-status");
  if (!field || !panel) return;
  const WAIT_MS = 150;
  const WORDS = { show: "Show", edit: "Edit", confirm: "Confirm", pin: "Pin", unpin: "Unpin", forget: "Forget", compare: "Compare" };

  let timer = null;
  let request = null;
  let results = null; // The list of results while the verbs of one of them are shown.

  const options = () => [...panel.querySelectorAll("[role=option]")];
  const chosen = () => panel.querySelector("[aria-selected=true]");
  const isOpen = () => !panel.hidden;

  const choose = (option) => {
    chosen()?.setAttribute("aria-selected", "false");
    if (!option) return field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  };
  const step = (by) => {
    const all = options();
    if (!all.length) return;
    const here = all.indexOf(chosen());
    choose(all[here < 0 ? (by > 0 ? 0 : all.length - 1) : (here + by + all.length) % all.length]);
  };
  const close = () => {
    clearTimeout(timer);
    request?.abort();
    panel.hidden = true;
    panel.replaceChildren();
    results = null;
    field.setAttribute("aria-expanded", "false");
    choose(null);
    status.textContent = "";
  };
  const open = (list) => {
    panel.replaceChildren(list);
    panel.hidden = false;
    field.setAttribute("aria-expanded", String(options().length > 0));
    choose(null);
  };

  const find = async () => {
    const words = field.value.trim();
    request?.abort();
    if (!words) return close();
    request = new AbortController();
    try {
      const answer = await fetch(`/find?q=${encodeURIComponent(words)}`, { headers: { "HX-Request": "true" }, signal: request.signal });
      if (!answer.ok) return close();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const list = page.getElementById("quick-list");
      if (!list || document.activeElement !== field) return;
      const count = Number(list.dataset.count);
      results = null;
      open(list);
      status.textContent = count === 0 ? "No memories match." : count === 1 ? "1 memory." : `${count} memories.`;
      if (count === 0) list.textContent = "No memories match.";
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };

  // The verbs of a result take the place of the results.
  const list = (result) => {
    const box = document.createElement("div");
    box.setAttribute("role", "listbox");
    box.id = "quick-verbs";
    box.setAttribute("aria-label", `Actions of ${result.dataset.short}`);
    for (const verb of ["show", ...result.dataset.verbs.split(" ").filter(Boolean), "compare"]) {
      const option = document.createElement("div");
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.id = `quick-verb-${verb}`;
      option.dataset.verb = verb;
      option.textContent = `${WORDS[verb]} ${result.dataset.short}`;
      Object.assign(option.dataset, { page: result.dataset.page, base: result.dataset.base, short: result.dataset.short });
      box.append(option);
    }
    const kept = { list: panel.firstElementChild, id: result.id };
    open(box);
    results = kept;
    step(1);
  };
  const back = () => {
    const kept = results;
    results = null;
    open(kept.list);
    choose(document.getElementById(kept.id));
  };

  const run = (option) => {
    const { verb = "show", page, base, short } = option.dataset;
    if (verb === "show" || !window.htmx) return void (location.href = page);
    if (verb === "compare") return void (location.href = `/compare?one=${encodeURIComponent(short)}`);
    close();
    if (verb === "edit") window.htmx.ajax("GET", `${base}/edit`, { source: document.body, target: "#dialog", swap: "innerHTML" });
    else window.htmx.ajax("POST", `${base}/${verb}`, { source: document.body, target: "#undo", swap: "none" });
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const option = chosen();
    const atEnd = field.selectionStart === field.value.length;
    // A key that does nothing here keeps its meaning: Enter without a choice sends the form.
    const does = {
      ArrowDown: () => (isOpen() ? step(1) : find()),
      ArrowUp: isOpen() && (() => step(-1)),
      ArrowRight: option && atEnd && !results && (() => list(option)),
      ArrowLeft: results && back,
      Enter: option && (() => run(option)),
      Escape: isOpen() && (results ? back : close),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  });
  field.addEventListener("blur", () => setTimeout(() => { if (document.activeElement !== field) close(); }, 150));
  panel.addEventListener("mousedown", (event) => event.preventDefault());
  panel.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) run(option);
  });
})();

// Scripts of all pages: dialogs, toasts, inline errors, the theme, charts. HTMX fetches parts of pages.
(() => {
  "use strict";

  const dialog = document.getElementById("dialog");
  const toasts = document.getElementById("toasts");
  const connection = document.getElementById("connection");
  const TOAST_MS = 5000;
  const BAD_TOAST_MS = 15000;

  // --- messages ---------------------------------------------------------------------------------------------------

  // The parts of a message; a command stands between backticks.
  const partsOf = (text) =>
    text.split("`").map((part, index) => (index % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part));

  const toast = (text, tone) => {
    const line = document.createElement("p");
    line.className = `toast ${tone || "ok"}`;
    line.append(...partsOf(text));
    toasts.append(line);
    setTimeout(() => line.remove(), tone === "bad" ? BAD_TOAST_MS : TOAST_MS);
  };

  // The place for a message about an element: its form, or the part around a form that is only a button.
  const FIELDS = "textarea, select, input:not([type=hidden])";
  const placeOf = (element) => {
    const form = element.closest("form");
    return (form?.querySelector(FIELDS) ? form : null) || element.closest("[data-errors], dialog") || form;
  };

  // Show a message in the form or row that caused it, else as a toast.
  const tell = (element, text) => {
    const place = placeOf(element);
    if (!place || !document.contains(place) || place.matches("[data-tidy]")) return toast(text, "bad");
    let line = place.querySelector("[data-told]");
    if (!line) {
      line = document.createElement("p");
      line.className = "line bad";
      line.dataset.told = "";
      line.setAttribute("role", "alert");
      place.prepend(line);
    }
    line.replaceChildren(...partsOf(text));
  };

  // Show a line in the sidebar while the page may be outdated; null removes it.
  let warning = null;
  const warn = (text, ...more) => {
    if (text === warning) return;
    warning = text;
    connection.hidden = text === null;
    connection.replaceChildren(...(text === null ? [] : [text, ...more]));
    document.documentElement.toggleAttribute("data-offline", text !== null);
  };
  const connected = (works) => warn(works ? null : "No connection to the service. This page may be outdated.");

  // The login opens in another tab, so that text typed in this tab stays.
  const askForLogin = () => {
    const link = document.createElement("a");
    Object.assign(link, { href: "/login", target: "_blank", rel: "noopener", textContent: "Log in again" });
    warn("Your login has ended. This page may be outdated. ", link);
  };

  // The service redirects to its login. A refresh, or a page with a form in use, stays where it is.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { elt, xhr, requestConfig } = event.detail;
    const stays = elt.matches("[data-live]") || document.querySelector("[data-editing], dialog[open] form");
    if (xhr.status !== 401 || !(stays || requestConfig.verb !== "get")) return;
    event.preventDefault();
    askForLogin();
    if (!elt.matches("[data-live]")) tell(elt, "Your login has ended. Nothing was changed. Log in again in another tab.");
  });

  // A refused form is shown again with its errors. Any other refusal is one line of text, which is no part of the page.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.status < 400 || !(xhr.getResponseHeader("Content-Type") || "").startsWith("text/plain")) return;
    event.detail.shouldSwap = false;
    event.detail.isError = true;
  });
  document.addEventListener("htmx:responseError", (event) => {
    const answer = event.detail.xhr;
    if (event.detail.elt.matches("[data-live]") && answer.status >= 500) return connected(false);
    const type = answer.getResponseHeader("Content-Type") || "";
    let text = `The service answered ${answer.status}.`;
    if (type.startsWith("text/plain")) text = answer.responseText;
    else if (type.includes("json")) {
      try {
        text = JSON.parse(answer.responseText).detail || text;
      } catch { /* the status is enough */ }
    }
    tell(event.detail.elt, text);
  });
  document.addEventListener("htmx:sendError", (event) => {
    connected(false);
    if (!event.detail.elt.matches("[data-live]")) tell(event.detail.elt, "The service is unreachable. Nothing was changed.");
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful) return;
    connected(true);
    if (!event.detail.elt.matches("[data-live]")) placeOf(event.detail.elt)?.querySelector("[data-told]")?.remove();
  });
  // The next message replaces an offer to undo.
  document.addEventListener("toast", (event) => {
    document.getElementById("undo").replaceChildren();
    toast(event.detail.value);
  });
  toasts.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) document.getElementById("undo").replaceChildren();
  });

  // --- parts that refresh themselves ----------------------------------------------------------------------------

  // A hidden page does not refresh.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.matches("[data-live]")) event.preventDefault();
  });

  // Elements in use (edited, selected, unfolded) stay as they are, and so do elements around a form in use.
  const holdsForm = (node) => node instanceof Element && node.querySelector("[data-editing]") !== null;
  if (window.Idiomorph) {
    Object.assign(window.Idiomorph.defaults.callbacks, {
      beforeNodeMorphed: (old, now) => {
        if (!(old instanceof Element)) return true;
        if (old.matches("[data-editing], [data-keep]")) return false;
        return !holdsForm(old) || [...now.classList].every((name) => old.classList.contains(name));
      },
      beforeNodeRemoved: (old) => !(old instanceof Element && (old.matches("[data-editing], [data-told]") || holdsForm(old))),
      beforeAttributeUpdated: (name, node) =>
        !(name === "open" && node.matches("details, dialog")) && !(name === "selected" && node.matches("option")),
    });
  }

  // If a part with a form in use is dropped, the form moves to the top of its list.
  let forms = [];
  document.addEventListener("htmx:beforeSwap", (event) => {
    forms = [...event.detail.target.querySelectorAll("[data-editing]")];
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    // A history restore swaps too, without a target.
    const list = document.getElementById(event.detail.target?.id);
    for (const form of forms) if (!form.isConnected) list?.querySelector("tbody")?.prepend(form);
    forms = [];
  });

  // A button is disabled while its request runs and so loses the focus; afterwards it gets the focus back.
  let pressed = null;
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.elt.contains(document.activeElement)) pressed = document.activeElement;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.elt.contains(pressed)) return;
    if (document.activeElement === document.body && pressed.isConnected) pressed.focus();
    pressed = null;
  });

  // When a form becomes a row again, the focus returns to the button that opened the form.
  document.addEventListener("htmx:afterSettle", (event) => {
    const form = event.detail.target;
    if (!form?.matches("[data-editing]") || document.activeElement !== document.body) return;
    document.getElementById(form.id)?.querySelector("[data-edits]")?.focus();
  });

  // A growing list stays scrolled to its end, unless the reader has scrolled up.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const list = event.detail.target.closest("[data-follows]");
    if (list) list.dataset.follows = list.scrollHeight - list.scrollTop - list.clientHeight < 40 ? "yes" : "no";
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const list of document.querySelectorAll("[data-follows='yes']")) list.scrollTop = list.scrollHeight;
  });

  // Leave empty filters out of the address.
  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.detail.elt.matches("[data-tidy]")) return;
    for (const [name, value] of [...event.detail.formData.entries()]) {
      if (value === "") event.detail.formData.delete(name);
    }
  });

  // --- dialogs ----------------------------------------------------------------------------------------------------

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog && !dialog.open) dialog.showModal();
  });
  document.addEventListener("close-dialog", () => dialog.close());
  dialog.addEventListener("close", () => dialog.replaceChildren());
  dialog.addEventListener("click", (event) => {
    // A click on the backdrop closes the dialog, unless it has a form in use.
    if (event.target === dialog && !dialog.querySelector("textarea, input:not([type=hidden])")) dialog.close();
    if (event.target.closest("[data-close]")) {
      event.preventDefault();
      dialog.close();
    }
  });

  // --- small things -----------------------------------------------------------------------------------------------

  document.addEventListener("input", (event) => {
    const shown = event.target.dataset.shows;
    if (shown) document.getElementById(shown).textContent = event.target.value.replace(/^(\d+\.\d\d).*/, "$1");
  });

  document.addEventListener("keydown", (event) => {
    // "/" and Ctrl-K search all memories.
    const typing = event.target.closest("input:not([type=checkbox], [type=range]), textarea, select, dialog");
    const asked = event.key === "/" && !typing || event.key === "k" && (event.ctrlKey || event.metaKey) && !dialog.open;
    const search = asked && document.querySelector("[data-everywhere]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
    if (event.key === "?" && !typing) {
      event.preventDefault();
      document.getElementById("keys").click();
    }
    const undo = event.key === "u" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (undo && !event.repeat) document.querySelector("[data-undo]")?.click();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.target.form?.requestSubmit();
    }
    if (event.key === "Escape") {
      const cancel = event.target.closest("[data-editing]")?.querySelector("[data-cancel]");
      if (cancel) cancel.click();
    }
  });

  // On a narrow screen the navigation is a row: scroll to the current page. scrollIntoView would, in some browsers,
  // move the starting point of the Tab key past the skip link.
  const showWhere = () => {
    const here = document.querySelector(".nav-link[aria-current]")?.getBoundingClientRect();
    const row = document.querySelector(".sidebar nav");
    if (!here || !row) return;
    const frame = row.getBoundingClientRect();
    row.scrollLeft += here.left + here.width / 2 - (frame.left + frame.width / 2);
  };
  showWhere();
  window.addEventListener("resize", showWhere);

  // A checkbox that selects all checkboxes with its name, and the number of selected checkboxes.
  const boxes = (name) => [...document.querySelectorAll(`input[type=checkbox][name="${name}"]`)];
  const count = () => {
    for (const all of document.querySelectorAll("[data-ticks]")) {
      const found = boxes(all.dataset.ticks);
      const ticked = found.filter((box) => box.checked).length;
      all.checked = ticked > 0 && ticked === found.length;
      all.indeterminate = ticked > 0 && ticked < found.length;
      for (const place of document.querySelectorAll(`[data-counts="${all.dataset.ticks}"]`)) {
        place.textContent = String(ticked);
      }
    }
  };
  document.addEventListener("change", (event) => {
    // Filters of a page that HTMX does not refresh apply at once; a query waits for Enter.
    if (event.target.form?.matches("[data-submits]") && event.target.type !== "search") event.target.form.requestSubmit();
    const name = event.target.dataset.ticks;
    if (name) boxes(name).forEach((box) => { box.checked = event.target.checked; });
    count();
  });
  document.addEventListener("click", (event) => {
    const clears = event.target.closest("[data-unticks]");
    if (!clears) return;
    boxes(clears.dataset.unticks).forEach((box) => { box.checked = false; });
    count();
  });
  document.addEventListener("htmx:afterSettle", count);

  document.addEventListener("click", async (event) => {
    const copies = event.target.closest("[data-copy]");
    if (!copies) return;
    const text = copies.dataset.copy;
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    if (copied) toast(`Copied: ${text}`);
    else toast("The browser does not allow copying. Select the text and copy it.", "bad");
  });

  // A menu closes when one of its changes is done; its button gets the focus back.
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) event.detail.elt.closest("[popover].verbs")?.hidePopover();
  });

  // --- theme ------------------------------------------------------------------------------------------------------

  const THEMES = ["system", "light", "dark"];
  const theme = document.getElementById("theme");
  const name = () => document.documentElement.dataset.theme || "system";
  const label = () => { theme.textContent = `Theme: ${name()}`; };
  theme.hidden = false;
  label();
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(name()) + 1) % THEMES.length];
    if (next === "system") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("commonplace-theme");
    } else {
      document.documentElement.dataset.theme = next;
      localStorage.setItem("commonplace-theme", next);
    }
    label();
    document.dispatchEvent(new Event("theme"));
  });

  // --- charts -----------------------------------------------------------------------------------------------------

  const colour = (variable) => {
    const probe = document.createElement("i");
    probe.style.color = `var(${variable})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };
  window.commonplace = { colour };
  const drawn = new Map();
  const draw = (figure) => {
    if (drawn.has(figure)) return;
    const series = JSON.parse(figure.dataset.chart);
    // Label days if there are several, else times; in UTC, like all exact times of the dashboard.
    const moments = (plot, ticks) => {
      const days = plot.scales.x.max - plot.scales.x.min > 2 * 86400;
      const months = plot.scales.x.max - plot.scales.x.min > 300 * 86400;
      const form = months ? { month: "short", year: "numeric" } : days ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit", hour12: false };
      const texts = ticks.map((tick) => new Date(tick * 1000).toLocaleString("en-GB", { ...form, timeZone: "UTC" }));
      return texts.map((text, index) => (text === texts[index - 1] ? "" : text));
    };
    const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { stroke: () => colour("--line") } };
    const lines = series.lines || [];
    // A vertical line at a marked moment.
    const mark = (plot) => {
      if (series.marker == null) return;
      const place = plot.valToPos(series.marker, "x", true);
      const { top, height } = plot.bbox;
      plot.ctx.save();
      plot.ctx.strokeStyle = plot.ctx.fillStyle = colour("--text");
      plot.ctx.lineWidth = window.devicePixelRatio;
      plot.ctx.beginPath();
      plot.ctx.moveTo(place, top);
      plot.ctx.lineTo(place, top + height);
      plot.ctx.stroke();
      plot.ctx.textAlign = place > top + plot.bbox.width * 0.85 ? "right" : "left";
      plot.ctx.fillText(" today ", place, top + 12 * window.devicePixelRatio);
      // A label is at the end if the falling curve stays below its line for long, else at the beginning.
      const late = series.values[Math.floor(series.values.length * 0.7)];
      lines.forEach((line) => {
        const atEnd = late < line.value;
        plot.ctx.textAlign = atEnd ? "right" : "left";
        plot.ctx.fillStyle = colour("--muted");
        plot.ctx.fillText(` ${line.label} at ${line.value} `, plot.bbox.left + (atEnd ? plot.bbox.width : 0), plot.valToPos(line.value, "y", true) - 4 * window.devicePixelRatio);
      });
      plot.ctx.restore();
    };
    const plot = new window.uPlot({
      hooks: { draw: [mark] },
      width: figure.clientWidth || 600,
      height: 160,
      cursor: { y: false },
      legend: { show: false },
      scales: { y: { range: (_plot, low, high) => [series.low ?? low, series.high ?? high] } },
      axes: [{ ...axis, values: moments, space: 70, size: 32 }, { ...axis, size: 44 }],
      series: [{}, {
        label: series.label,
        stroke: () => colour("--accent"),
        width: 2,
        points: { size: 6, show: series.values.length > 60 ? false : undefined },
        paths: series.stepped ? window.uPlot.paths.stepped({ align: 1 }) : undefined,
      }, ...lines.map((line) => ({
        label: line.label, stroke: () => colour("--muted"), width: 1, dash: [4, 4], points: { show: false },
      }))],
    }, [series.times, series.values, ...lines.map((line) => series.times.map(() => line.value))], figure);
    drawn.set(figure, plot);
  };
  const drawAll = () => {
    for (const figure of drawn.keys()) if (!document.contains(figure)) drawn.delete(figure);
    const figures = document.querySelectorAll("[data-chart]");
    if (window.uPlot) figures.forEach(draw);
    else if (figures.length > 0) loadCharts();
  };
  // Only pages with a chart load the chart library.
  const loadCharts = () => {
    const { charts, chartsCss } = document.body.dataset;
    if (!charts || document.querySelector(`script[src="${charts}"]`)) return;
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: chartsCss });
    const script = Object.assign(document.createElement("script"), { src: charts, onload: drawAll });
    document.head.append(style, script);
  };
  const repaint = () => drawn.forEach((plot) => plot.redraw());
  document.addEventListener("theme", repaint);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  window.addEventListener("resize", () => drawn.forEach((plot, figure) => plot.setSize({ width: figure.clientWidth, height: 160 })));
  document.addEventListener("htmx:afterSettle", drawAll);
  drawAll();
})();

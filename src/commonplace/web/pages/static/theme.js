// Before the first paint, set the chosen theme, else the system's theme.
(() => {
  "use strict";
  const chosen = localStorage.getItem("commonplace-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  document.documentElement.dataset.scripts = "yes";
})();

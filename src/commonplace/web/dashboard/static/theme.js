// Set the chosen theme before the first paint, else the theme of the system.
(() => {
  "use strict";
  const chosen = localStorage.getItem("commonplace-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  document.documentElement.dataset.scripts = "yes";
})();

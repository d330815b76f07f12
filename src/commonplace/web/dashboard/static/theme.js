// Before anything is painted: the theme that the reader chose, else the system's.
(() => {
  "use strict";
  const chosen = localStorage.getItem("commonplace-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  document.documentElement.dataset.scripts = "yes";
})();

// The graph of knowledge memory, drawn from JSON with the colours of the page; a click opens the page of a node.
(() => {
  "use strict";

  const place = document.getElementById("graph");
  const told = document.getElementById("graph-told");
  if (!place || !window.cytoscape) return;

  const colour = (variable) => {
    const probe = document.createElement("i");
    probe.style.color = `var(${variable})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };
  const KINDS = { entity: "--violet", fact: "--info", rule: "--warn", episode: "--ok" };
  const shortened = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

  const look = () => [
    { selector: "node", style: {
      label: "data(short)", width: 14, height: 14, "font-size": 9, color: colour("--text"), "text-valign": "bottom",
      "text-margin-y": 3, "text-wrap": "wrap", "text-max-width": 110, "min-zoomed-font-size": 7,
      "text-background-color": colour("--surface"), "text-background-opacity": 0.8, "text-background-padding": 1,
      "border-width": 1.5, "border-color": colour("--surface"),
    } },
    ...Object.entries(KINDS).map(([kind, variable]) => (
      { selector: `node[kind = "${kind}"]`, style: { "background-color": colour(variable) } })),
    { selector: 'node[kind = "entity"]', style: { width: 26, height: 26, "font-size": 12, "font-weight": 600 } },
    { selector: "edge", style: {
      width: 1.2, "line-color": colour("--line-strong"), "curve-style": "bezier", "target-arrow-shape": "triangle",
      "target-arrow-color": colour("--line-strong"), "arrow-scale": 0.7,
    } },
    { selector: ".near", style: { "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), "border-color": colour("--accent") } },
  ];

  const draw = (data) => {
    const graph = window.cytoscape({
      container: place,
      elements: [
        ...data.nodes.map((node) => ({ data: { ...node, short: shortened(node.label || node.kind, node.kind === "entity" ? 40 : 48) } })),
        ...data.edges.map((edge, index) => ({ data: { id: `edge-${index}`, ...edge } })),
      ],
      style: look(),
      layout: { name: "cose", animate: false, randomize: true, nodeDimensionsIncludeLabels: true, nodeRepulsion: 12000, idealEdgeLength: 70, padding: 24 },
      minZoom: 0.15,
      maxZoom: 3,
      wheelSensitivity: 1,
    });
    graph.on("tap", "node", (event) => { window.location.href = event.target.data("url"); });
    graph.on("mouseover", "node", (event) => {
      place.style.cursor = "pointer";
      event.target.closedNeighborhood().addClass("near");
      told.textContent = `${event.target.data("kind")}: ${event.target.data("label")}`;
    });
    graph.on("mouseout", "node", () => {
      place.style.cursor = "";
      graph.elements().removeClass("near");
      told.textContent = "";
    });
    const repaint = () => graph.style(look());
    document.addEventListener("theme", repaint);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    const zoom = (factor) => graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: graph.width() / 2, y: graph.height() / 2 } });
    const does = { in: () => zoom(1.3), out: () => zoom(1 / 1.3), fit: () => graph.fit(undefined, 24) };
    for (const button of document.querySelectorAll("[data-graph]")) {
      button.addEventListener("click", () => does[button.dataset.graph]());
    }
    window.addEventListener("resize", () => { graph.resize(); graph.fit(undefined, 24); });
    // The position of a node on the page, for tests.
    place.dataset.drawn = String(graph.nodes().length);
    place.graph = graph;
  };

  fetch(place.dataset.graphUrl, { headers: { Accept: "application/json" } })
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`The service answered ${answer.status}.`))))
    .then(draw)
    .catch((error) => { told.textContent = `The graph could not be drawn: ${error.message} The list has the same content.`; });
})();

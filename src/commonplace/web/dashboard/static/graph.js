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
      label: "data(short)", width: "data(size)", height: "data(size)", "font-size": 9, color: colour("--text"),
      "text-valign": "bottom", "text-margin-y": 3, "text-wrap": "wrap", "text-max-width": 110,
      "text-background-color": colour("--surface"), "text-background-opacity": 0.8, "text-background-padding": 1,
      "border-width": 1.5, "border-color": colour("--surface"),
    } },
    ...Object.entries(KINDS).map(([kind, variable]) => (
      { selector: `node[kind = "${kind}"]`, style: { "background-color": colour(variable) } })),
    { selector: 'node[kind = "entity"]', style: { "font-size": 12, "font-weight": 600 } },
    { selector: "edge", style: {
      width: 1.2, "line-color": colour("--line-strong"), "curve-style": "bezier", "target-arrow-shape": "triangle",
      "target-arrow-color": colour("--line-strong"), "arrow-scale": 0.7, "font-size": 8, color: colour("--muted"),
      "text-background-color": colour("--surface"), "text-background-opacity": 0.8, "text-rotation": "autorotate",
    } },
    { selector: "edge.told", style: { label: "data(relation)" } },
    { selector: "node.mute", style: { "text-opacity": 0, "text-background-opacity": 0 } },
    { selector: ".near", style: { "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), "border-color": colour("--accent") } },
  ];

  // The area of a node grows with the number of facts about the entity.
  const sizeOf = (node) => (node.kind === "entity" ? Math.min(60, 20 + 6 * Math.sqrt(node.facts)) : 14);

  // Show the labels that have room at this zoom, those of large nodes first.
  const CELL = 24;
  const declutter = (graph) => {
    const taken = new Set();
    const cells = ({ x1, x2, y1, y2 }) => {
      const found = [];
      for (let x = Math.floor(x1 / CELL); x <= Math.floor(x2 / CELL); x += 1) {
        for (let y = Math.floor(y1 / CELL); y <= Math.floor(y2 / CELL); y += 1) found.push(`${x}:${y}`);
      }
      return found;
    };
    const zoom = graph.zoom();
    graph.batch(() => {
      for (const node of graph.nodes().sort((one, other) => other.data("size") - one.data("size"))) {
        const { x, y } = node.renderedPosition();
        const font = (node.data("kind") === "entity" ? 12 : 9) * zoom;
        const text = node.data("short");
        const width = Math.min(110 * zoom, text.length * font * 0.55);
        const lines = Math.ceil((text.length * font * 0.55) / (110 * zoom)) || 1;
        const top = y + (node.data("size") / 2) * zoom;
        const wanted = cells({ x1: x - width / 2, x2: x + width / 2, y1: top, y2: top + lines * font * 1.2 });
        const fits = font >= 6 && !wanted.some((cell) => taken.has(cell));
        node.toggleClass("mute", !fits);
        if (fits) wanted.forEach((cell) => taken.add(cell));
      }
    });
  };

  const draw = (data) => {
    const isWay = "way" in place.dataset;
    const graph = window.cytoscape({
      container: place,
      elements: [
        ...data.nodes.map((node) => ({ data: { ...node, size: sizeOf(node), short: shortened(node.label || node.kind, node.kind === "entity" ? 40 : 48) } })),
        ...data.edges.map((edge, index) => ({ data: { id: `edge-${index}`, ...edge, relation: edge.relation.replaceAll("_", " ") }, classes: isWay ? "told" : "" })),
      ],
      style: look(),
      layout: isWay ? { name: "breadthfirst", directed: true, direction: "rightward", roots: [data.nodes[0].id], spacingFactor: 1.4, padding: 40, animate: false } : { name: "cose", animate: false, randomize: true, nodeDimensionsIncludeLabels: true, nodeRepulsion: 12000, idealEdgeLength: 70, padding: 24 },
      minZoom: 0.15,
      maxZoom: 3,
      wheelSensitivity: 1,
    });
    graph.on("tap", "node", (event) => { window.location.href = event.target.data("url"); });
    graph.on("mouseover", "node", (event) => {
      place.style.cursor = "pointer";
      const near = event.target.closedNeighborhood();
      near.addClass("near");
      near.removeClass("mute");
      near.edges().addClass("told");
      told.textContent = `${event.target.data("kind")}: ${event.target.data("label")}`;
    });
    graph.on("mouseout", "node", () => {
      place.style.cursor = "";
      graph.elements().removeClass("near");
      if (!isWay) graph.edges().removeClass("told");
      declutter(graph);
      told.textContent = "";
    });
    let waiting = 0;
    graph.on("zoom resize layoutstop", () => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => declutter(graph));
    });
    declutter(graph);
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

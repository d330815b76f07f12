// The graph of knowledge memory, drawn from JSON with the colours of the page; a click opens the page of a node.
(() => {
  "use strict";

  const place = document.getElementById("graph");
  const told = document.getElementById("graph-told");
  if (!place || !window.cytoscape) return;

  const { colour } = window.commonplace;
  const KINDS = { entity: "--violet", fact: "--info", rule: "--warn", episode: "--ok" };
  const MANY = 600;

  const look = (isLarge) => [
    { selector: "node", style: {
      width: "data(size)", height: "data(size)", "border-width": 1.5, "border-color": colour("--surface"),
    } },
    ...Object.entries(KINDS).map(([kind, variable]) => (
      { selector: `node[kind = "${kind}"]`, style: { "background-color": colour(variable) } })),
    { selector: "edge", style: {
      width: 1.2, "line-color": colour("--line-strong"), "curve-style": isLarge ? "haystack" : "bezier",
      "target-arrow-shape": "triangle", "target-arrow-color": colour("--line-strong"), "arrow-scale": 0.7,
    } },
    { selector: ".near", style: { "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), "border-color": colour("--accent") } },
  ];

  // The area of a node grows with the number of facts about the entity.
  const sizeOf = (node) => (node.kind === "entity" ? Math.min(60, 20 + 6 * Math.sqrt(node.facts)) : 14);

  // Join edges of the same direction between the same nodes: "works with +2" stands for three relations.
  const joined = (edges) => {
    const found = new Map();
    for (const { source, target, relation } of edges) {
      const key = `${source} ${target}`;
      if (source !== target) found.set(key, [...(found.get(key) || []), relation]);
    }
    return [...found].map(([key, words]) => {
      const [source, target] = key.split(" ");
      return { id: key, source, target, relation: words[0] + (words.length > 1 ? ` +${words.length - 1}` : "") };
    });
  };

  // Place memories of one neighbour in rings around it, and everything else by forces. Equal graphs look equal.
  const placed = (nodes, edges) => {
    const near = new Map(nodes.map((node) => [node.id, []]));
    for (const { source, target } of edges) {
      near.get(source).push(target);
      near.get(target).push(source);
    }
    const isLeaf = (node) => node.kind !== "entity" && near.get(node.id).length === 1;
    const kinds = new Map(nodes.map((node) => [node.id, node]));
    const centres = nodes.filter((node) => !isLeaf(node) || isLeaf(kinds.get(near.get(node.id)[0])));
    const gap = centres.length < 12 ? 75 : 26;
    const spots = new Map();
    centres.forEach((node, index) => {
      const leaves = near.get(node.id).map((id) => kinds.get(id)).filter((other) => isLeaf(other) && !centres.includes(other));
      const turn = index * 2.399963;
      const spot = { x: gap * 4 * Math.sqrt(index) * Math.cos(turn), y: gap * 4 * Math.sqrt(index) * Math.sin(turn), leaves: [], radius: node.size / 2 };
      while (leaves.length) {
        spot.radius += gap;
        const ring = leaves.splice(0, Math.max(5, Math.floor((6.28 * spot.radius) / gap)));
        ring.forEach((leaf, at) => {
          const angle = 1.571 + (6.283 * (at + 0.5)) / ring.length;  // room for the name below the centre
          spot.leaves.push([leaf.id, spot.radius * Math.cos(angle) * 1.3, spot.radius * Math.sin(angle)]);
        });
      }
      spots.set(node.id, spot);
    });
    settle([...spots.values()], edges.map(({ source, target }) => [spots.get(source), spots.get(target)]).filter(([one, other]) => one && other), gap);
    const found = new Map();
    for (const [id, { x, y, leaves }] of spots) {
      found.set(id, { x, y });
      for (const [leaf, dx, dy] of leaves) found.set(leaf, { x: x + dx, y: y + dy });
    }
    return found;
  };

  // Pull joined spots together, and push apart spots that are too close. A grid finds these, so the time is linear.
  const ROUNDS = 160;
  const settle = (spots, pairs, gap) => {
    const reach = 2 * Math.max(...spots.map((spot) => spot.radius)) + 3 * gap;
    for (let round = 0; round < ROUNDS; round += 1) {
      const heat = 1 - round / ROUNDS;
      for (const [one, other] of pairs) {
        const dx = other.x - one.x;
        const dy = other.y - one.y;
        const far = Math.hypot(dx, dy) || 1;
        const pull = ((far - one.radius - other.radius - 2 * gap) / far) * 0.08 * heat;
        if (pull > 0) { one.x += dx * pull; one.y += dy * pull; other.x -= dx * pull; other.y -= dy * pull; }
      }
      const grid = new Map();
      for (const spot of spots) {
        spot.x *= 1 - 0.01 * heat;
        spot.y *= 1 - 0.02 * heat;  // the picture is wider than high
        const [column, row] = [Math.floor(spot.x / reach), Math.floor(spot.y / reach)];
        for (let x = column - 1; x <= column + 1; x += 1) {
          for (let y = row - 1; y <= row + 1; y += 1) (grid.get(`${x}:${y}`) || []).forEach((other) => part(spot, other, gap));
        }
        const cell = `${column}:${row}`;
        if (grid.has(cell)) grid.get(cell).push(spot);
        else grid.set(cell, [spot]);
      }
    }
  };
  const part = (one, other, gap) => {
    const dx = other.x - one.x || 0.1;
    const dy = (other.y - one.y || 0.1) * 1.2;
    const far = Math.hypot(dx, dy);
    const push = ((1.3 * (one.radius + other.radius) + 1.6 * gap - far) / far) * 0.4;
    if (push > 0) { one.x -= dx * push; one.y -= dy * push; other.x += dx * push; other.y += dy * push; }
  };

  // Labels have the same size at every zoom. They are drawn where there is room: entities with the most facts first.
  const CELL = 8;
  const WIDEST = 150;
  const labels = (graph) => {
    const canvas = document.createElement("canvas");
    canvas.className = "graph-labels";
    place.append(canvas);
    const pen = canvas.getContext("2d");
    const isWay = "way" in place.dataset;
    const fonts = { entity: "600 12.5px system-ui, sans-serif", edge: "11px system-ui, sans-serif" };
    const family = getComputedStyle(document.body).fontFamily;
    for (const kind of Object.keys(fonts)) fonts[kind] = fonts[kind].replace("system-ui, sans-serif", family);
    const lines = (text, font) => {
      pen.font = font;
      const found = [""];
      for (const word of text.split(/\s+/)) {
        const longer = `${found.at(-1)} ${word}`.trim();
        if (found.at(-1) && pen.measureText(longer).width > WIDEST) found.push(word);
        else found[found.length - 1] = longer;
      }
      const shown = found.slice(0, 3).map((line) => (line.length > 26 ? `${line.slice(0, 25)}…` : line));
      if (found.length > 3) shown[2] += "…";
      return { shown, font, width: Math.max(...shown.map((line) => pen.measureText(line).width)), height: shown.length * 14 };
    };
    const known = new Map();
    const cut = (item, text, font) => {
      if (!known.has(item)) known.set(item, lines(text, font));
      return known.get(item);
    };
    const nodes = graph.nodes().toArray().sort((one, other) => other.data("size") - one.data("size"));
    const entities = nodes.filter((node) => node.data("kind") === "entity");
    const others = nodes.filter((node) => node.data("kind") !== "entity");
    const isOfFact = (edge) => edge.source().data("kind") === "entity" && edge.target().data("kind") === "fact";
    const edges = graph.edges().toArray().filter((edge) => isWay || !isOfFact(edge));  // a fact names its predicate

    return () => {
      const [width, height, ratio] = [graph.width(), graph.height(), window.devicePixelRatio || 1];
      if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
      if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      pen.textAlign = "center";
      pen.textBaseline = "top";
      const [zoom, pan, taken, written] = [graph.zoom(), graph.pan(), new Set(), []];
      const columns = Math.ceil(width / CELL) + 2;
      const isFree = (x, y, w, h, take) => {
        for (let row = Math.floor(y / CELL); row <= Math.floor((y + h) / CELL); row += 1) {
          for (let column = Math.floor(x / CELL); column <= Math.floor((x + w) / CELL); column += 1) {
            if (take) taken.add(row * columns + column);
            else if (taken.has(row * columns + column)) return false;
          }
        }
        return true;
      };
      const write = (item, text, font, ink, { x, y }, below) => {
        const [left, top] = [x * zoom + pan.x, y * zoom + pan.y];
        if (left < 0 || top < 0 || left > width || top > height) return;
        const cutText = cut(item, text, font);
        const half = cutText.width / 2 + 3;
        const centre = Math.max(half, Math.min(left, width - half));  // a name at the border moves inwards
        const firsts = below === null ? [top - cutText.height / 2 - (isWay ? 10 : 0)]
          : [top + below * zoom + 3, top - below * zoom - cutText.height - CELL - 1];  // below its node, or else above
        const boxOf = (first) => [centre - half, first - 1, 2 * half, cutText.height + 2];
        const fits = ([x, y, w, h]) => x >= 0 && y >= 0 && x + w <= width && y + h <= height && isFree(x, y, w, h, false);
        const first = firsts.find((each) => fits(boxOf(each)));
        if (first === undefined) return;
        const box = boxOf(first);
        isFree(...box, true);
        pen.globalAlpha = 0.85;
        pen.fillStyle = inks.surface;
        pen.fillRect(...box);
        pen.globalAlpha = 1;
        pen.fillStyle = ink;
        pen.font = font;
        cutText.shown.forEach((line, row) => pen.fillText(line, centre, first + row * 14));
        written.push(text);
      };
      const name = (node) => {
        const isEntity = node.data("kind") === "entity";
        write(node.id(), node.data("label") || node.data("kind"), isEntity ? fonts.entity : fonts.edge, inks.text, node.position(), node.data("size") / 2);
      };
      const relation = (edge) => {
        const [from, to] = [edge.source().position(), edge.target().position()];
        if (Math.hypot(from.x - to.x, from.y - to.y) * zoom < 90) return;
        const middle = graph.scratch("isLarge") ? { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } : edge.midpoint();
        write(edge.id(), edge.data("relation"), fonts.edge, inks.muted, middle, null);
      };
      const keepOff = (least) => (node) => {
        const [{ x, y }, size] = [node.position(), node.data("size") * zoom];
        const [left, top] = [x * zoom + pan.x - size / 2, y * zoom + pan.y - size / 2];
        if (size > least && left > -size && top > -size && left < width && top < height) isFree(left, top, size, size - CELL, true);
      };
      entities.forEach(keepOff(14));
      const near = graph.scratch("near");
      if (near) { near.nodes().forEach(name); near.edges().forEach(relation); }
      entities.forEach(name);
      others.forEach(keepOff(5));
      const relations = () => edges.forEach(relation);
      const names = () => { if (14 * zoom > 5 || !graph.scratch("isLarge")) others.forEach(name); };
      for (const step of isWay ? [names, relations] : [relations, names]) step();
      place.labels = written;
    };
  };
  let inks = {};

  const draw = (data) => {
    const isWay = "way" in place.dataset;
    const isLarge = data.nodes.length > MANY;
    const nodes = data.nodes.map((node) => ({ ...node, size: sizeOf(node) }));
    const edges = joined(data.edges);
    const spots = isWay ? null : placed(nodes, edges);
    const repaint = () => { inks = { text: colour("--text"), muted: colour("--muted"), surface: colour("--surface") }; return look(isLarge); };
    const graph = window.cytoscape({
      container: place,
      elements: [...nodes.map((node) => ({ data: node, position: spots?.get(node.id) })), ...edges.map((edge) => ({ data: edge }))],
      style: repaint(),
      layout: isWay ? { name: "breadthfirst", directed: false, direction: "rightward", roots: [nodes[0].id], spacingFactor: 1.4, padding: 50, animate: false } : { name: "preset", padding: 40 },
      textureOnViewport: isLarge,  // while the picture moves, the last one is moved
      pixelRatio: isLarge ? 1 : "auto",
      minZoom: 0.02,
      maxZoom: 3,
    });
    const fit = () => { graph.fit(undefined, 40); if (graph.zoom() > 1.4) { graph.zoom(1.4); graph.center(); } };
    graph.scratch("isLarge", isLarge);
    graph.on("tap", "node", (event) => { window.location.href = event.target.data("url"); });
    graph.on("mouseover", "node", (event) => {
      place.style.cursor = "pointer";
      const near = event.target.closedNeighborhood();
      graph.scratch("near", near.union(event.target));
      near.addClass("near");
      told.textContent = `${event.target.data("kind")}: ${event.target.data("label")}`;
    });
    graph.on("mouseout", "node", () => {
      place.style.cursor = "";
      graph.scratch("near")?.removeClass("near");
      graph.scratch("near", null);
      told.textContent = "";
    });
    graph.on("render", labels(graph));
    fit();
    const recolour = () => graph.style(repaint());
    document.addEventListener("theme", recolour);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    const zoom = (factor) => graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: graph.width() / 2, y: graph.height() / 2 } });
    const does = { in: () => zoom(1.3), out: () => zoom(1 / 1.3), fit };
    for (const button of document.querySelectorAll("[data-graph]")) {
      button.addEventListener("click", () => does[button.dataset.graph]());
    }
    window.addEventListener("resize", () => { graph.resize(); fit(); });
    // The number of nodes and the graph, for tests; so are the labels that the last frame shows.
    place.dataset.drawn = String(nodes.length);
    place.graph = graph;
  };

  fetch(place.dataset.graphUrl, { headers: { Accept: "application/json" } })
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`The service answered ${answer.status}.`))))
    .then(draw)
    .catch((error) => { told.textContent = `The graph could not be drawn: ${error.message} The list has the same content.`; });
})();

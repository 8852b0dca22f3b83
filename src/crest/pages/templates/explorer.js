"use strict";
// One trajectory step by step: its signals, and the chosen readout's credit, transience and votes under them.
(() => {
  const { systems, colours } = JSON.parse(document.getElementById("explorer-data").textContent);
  const find = (name) => document.getElementById("explorer-" + name);
  const [plot, facts] = [find("plot"), find("facts")];
  const selects = { system: find("system"), trajectory: find("trajectory"), readout: find("readout") };
  const ROW = 118, GAP = 34, TOP = 26;

  const signed = (value) => (value === null ? "unknown" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3));
  const percent = (share) => (100 * share).toFixed(1) + " %";
  // For plotly, which reads tags, entities and %{...} in texts: a channel's name is text and nothing else.
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;" };
  const plain = (text) => text.replace(/[&<>{]/g, (letter) => ENTITIES[letter]);
  const steps = (values) => values.map((_, step) => step);

  function fill(select, names, chosen) {
    select.replaceChildren(...names.map((name, place) => new Option(name, place)));
    select.value = chosen;
  }

  function trajectoryName(trajectory) {
    const cue = trajectory.cue === null ? "" : `, cue ${signed(trajectory.cue)}`;
    const target = trajectory.y === null ? "" : `: y ${signed(trajectory.y)}`;
    return `${trajectory.split.toUpperCase()} ${trajectory.index}${target}${cue}`;
  }

  // The lists of a system; what was chosen before is kept where the new system has it too.
  function enter(system, readoutName) {
    // The first whose cue is broken, where there is one: that is what the page is about.
    const first = Math.max(system.trajectories.findIndex((one) => one.split === "ood"), 0);
    fill(selects.trajectory, system.trajectories.map(trajectoryName), first);
    const names = system.readouts.map((readout) => readout.name);
    fill(selects.readout, names, Math.max(names.indexOf(readoutName), 0));
  }

  const chosen = () => {
    const system = systems[selects.system.value];
    const place = Number(selects.trajectory.value);
    const readout = system.readouts[selects.readout.value];
    return { system, place, trajectory: system.trajectories[place], readout, reading: readout.rows[place] };
  };

  // Runs of neighbouring event steps, as [first, last].
  function runs(events) {
    const found = [];
    for (const step of events ?? []) {
      if (found.length && step <= found.at(-1)[1] + 1) found.at(-1)[1] = step;
      else found.push([step, step]);
    }
    return found;
  }

  function tell({ trajectory, readout, reading }) {
    const items = trajectory.y === null ? [] : [["y", signed(trajectory.y)]];
    if (reading === null) {
      items.push(["Prediction", `not traced with ${readout.name}`]);
    } else {
      items.push([`Prediction of ${readout.name}`, signed(reading.prediction)]);
      if (trajectory.y !== null) items.push(["Error", signed(reading.prediction - trajectory.y)]);
      if (trajectory.events === null) {
        items.push(["Credit on event steps", "nobody knows the events"]);
      } else {
        const share = trajectory.events.reduce((sum, step) => sum + reading.credit[step], 0);
        const chance = trajectory.events.length / reading.credit.length;
        items.push(["Credit on event steps", percent(share), `chance ${percent(chance)}`]);
      }
    }
    facts.replaceChildren(...items.map(([name, value, beside]) => {
      const [box, term, detail] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
      term.textContent = name;
      detail.textContent = value;
      if (beside) {
        const small = document.createElement("small");
        small.textContent = beside;
        detail.append(" ", small);
      }
      box.append(term, detail);
      return box;
    }));
  }

  const line = (name, y, ink, more = {}) => ({
    type: "scatter", mode: "lines", name: plain(name), x: steps(y), y, line: { color: ink, width: 1.4 },
    hovertemplate: `<b>${plain(name)}</b><br>step %{x}: %{y:.4g}<extra></extra>`, showlegend: false, ...more,
  });

  // Rows from the top: a title and its lines each.
  function rows({ system, place, trajectory, readout, reading }) {
    const ink = crest.css("--ink");
    const list = system.channels.map((name, channel) => [name, [line(name, trajectory.signals[channel], ink)]]);
    const others = system.readouts.filter((other) => other !== readout && other.rows[place] !== null);
    const credit = others.map((other) => line(other.name, other.rows[place].credit, other.colour, {
      line: { color: other.colour, width: 0.8 }, showlegend: true, legendrank: 900,
      // Many thin lines hide each other: then the reader asks for them.
      visible: others.length > 3 ? "legendonly" : true,
    }));
    const even = trajectory.signals[0].map(() => 1 / trajectory.signals[0].length);
    credit.push(line("even credit (chance)", even, colours.reference, {
      line: { color: colours.reference, width: 1.2, dash: "dot" }, showlegend: true, legendrank: 950,
    }));
    if (reading !== null) {
      credit.push(line(readout.name, reading.credit, readout.colour, {
        line: { color: readout.colour, width: 2 }, fill: "tozeroy", showlegend: true, legendrank: 1,
      }));
    }
    list.push(["credit (share of each step)", credit]);
    if (reading !== null) {
      if (reading.transience !== null) {
        list.push(["transience r of the features", [line("transience", reading.transience, colours.quiet)]]);
      }
      if (reading.votes !== null) {
        const style = { fill: "tozeroy", line: { color: colours.core, width: 1.2, shape: "hvh" } };
        list.push(["selected core (share of channels that vote)", [line("votes", reading.votes, colours.core, style)]]);
      }
    }
    return list;
  }

  function figure(choice) {
    const list = rows(choice);
    const height = list.length * ROW + (list.length - 1) * GAP;
    const small = crest.narrow.matches;
    const layout = {
      height: height + TOP + 96, margin: { l: small ? 44 : 56, r: 8, t: TOP, b: 96 }, font: { size: small ? 11 : 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      legend: { orientation: "h", x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom" },
      xaxis: {
        title: { text: "step", standoff: 6 }, anchor: "y" + (list.length > 1 ? list.length : ""), zeroline: false, automargin: true,
        range: [-0.5, choice.trajectory.signals[0].length - 0.5], uirevision: selects.system.value,
      },
      annotations: [], shapes: [], uirevision: "legend",
    };
    const data = [];
    list.forEach(([title, lines], row) => {
      const suffix = row ? String(row + 1) : "";
      const top = 1 - (row * (ROW + GAP)) / height;
      layout["yaxis" + suffix] = {
        domain: [Math.max(top - ROW / height, 0), top], anchor: "x", zeroline: false, nticks: 4, automargin: true,
        uirevision: selects.system.value + "/" + selects.trajectory.value,
        ...(title.startsWith("selected") ? { range: [0, 1.05] } : title.startsWith("credit") ? { rangemode: "tozero" } : {}),
      };
      layout.annotations.push({
        text: `<b>${plain(title)}</b>`, xref: "paper", yref: `y${suffix} domain`, x: 0, y: 1, yshift: 3,
        xanchor: "left", yanchor: "bottom", showarrow: false,
      });
      for (const trace of lines) data.push({ ...trace, xaxis: "x", yaxis: "y" + suffix });
    });
    layout.shapes = runs(choice.trajectory.events).map(([first, last]) => ({
      type: "rect", layer: "below", line: { width: 0 }, fillcolor: colours.event, opacity: 0.28,
      xref: "x", x0: first - 0.5, x1: last + 0.5, yref: "paper", y0: 0, y1: 1,
    }));
    if (layout.shapes.length) {
      data.push({
        type: "scatter", mode: "markers", name: "event steps", x: [null], y: [null], xaxis: "x", yaxis: "y", legendrank: 2,
        marker: { symbol: "square", size: 12, color: colours.event, opacity: 0.45 }, showlegend: true, hoverinfo: "skip",
      });
    }
    return { data, layout: crest.assign(layout, crest.themed(layout)), height };
  }

  function draw() {
    const choice = chosen();
    tell(choice);
    const { data, layout, height } = figure(choice);
    return Plotly.react(plot, data, layout, crest.config)
      .then(() => crest.grown(plot, height))
      .then(() => { plot.dataset.drawn = "yes"; });
  }

  selects.system.addEventListener("change", () => {
    const before = selects.readout.selectedOptions[0]?.textContent;
    enter(systems[selects.system.value], before);
    draw();
  });
  selects.trajectory.addEventListener("change", draw);
  selects.readout.addEventListener("change", draw);
  crest.onChange(draw);
  fill(selects.system, systems.map((system) => system.name), 0);
  // CREST first where there is one: it has all rows.
  enter(systems[0], "CREST");
  draw();
})();

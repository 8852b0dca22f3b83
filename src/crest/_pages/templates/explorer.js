"use strict";
// One trajectory step by step: its signals, a strip of credit for each readout, and two readouts side by side under them.
(() => {
  const { systems, colours } = JSON.parse(document.getElementById("explorer-data").textContent);
  // Shares come as whole parts of their largest; those that repeat once each, with how often they come.
  function unpacked({ unit, parts, runs }) {
    const all = parts ?? [];
    for (let at = 0; runs && at < runs.length; at += 2) for (let time = 0; time < runs[at + 1]; time += 1) all.push(runs[at]);
    return all.map((part) => (part === null ? null : part * unit));
  }
  for (const reading of systems.flatMap((system) => system.readouts).flatMap((readout) => readout.rows)) {
    for (const name of reading === null ? [] : ["credit", "transience", "votes"]) {
      if (reading[name] !== null) reading[name] = unpacked(reading[name]);
    }
  }
  for (const spectrum of systems.flatMap((system) => system.trajectories).flatMap((one) => Object.values(one.spectra ?? {}))) {
    spectrum.channels = spectrum.channels.map(unpacked);
  }
  const find = (name) => document.getElementById("explorer-" + name);
  const [plot, facts, link, peaks] = [find("plot"), find("facts"), find("link"), find("peaks")];
  const tabs = [...find("tabs").querySelectorAll("button")];
  const ofTime = plot.getAttribute("aria-label");
  let view = "time";
  const selects = { system: find("system"), trajectory: find("trajectory"), readout: find("readout"), other: find("other") };
  const ROW = 96, STRIP = 20, GAP = 34, TIGHT = 3, TOP = 26, BOTTOM = 84;
  // NAMED: above a strip that has its name there. LETTER: the width of one, and BESIDE the share of the width that names may take. Bold ones are wider.
  const NAMED = 19, LETTER = 6.8, BESIDE = 0.3, BOLD = 0.85;

  const signed = (value) => (value === null ? "unknown" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3));
  const percent = (share) => (100 * share).toFixed(1) + " %";
  // For plotly, which reads tags, entities and %{...} in texts: a channel's name is text and nothing else.
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;" };
  const plain = (text) => text.replace(/[&<>{]/g, (letter) => ENTITIES[letter]);
  // A name that is too long for its place loses its middle: beginning and end tell models apart.
  const fitted = (text, pixels) => {
    const most = Math.max(Math.floor(pixels / LETTER), 12);
    return text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(text.length - Math.floor(most / 2))}`;
  };
  const steps = (values) => values.map((_, step) => step);
  // On padding signals and shares are null, and nothing is drawn.
  const validSteps = (trajectory) => trajectory.signals[0].filter((value) => value !== null).length;
  const timesEven = (trajectory, reading) => {
    const steps = validSteps(trajectory);
    return reading.credit.map((share) => (share === null ? null : share * steps));
  };
  const make = (tag, text = "") => Object.assign(document.createElement(tag), { textContent: text });

  function fill(select, names, chosen) {
    select.replaceChildren(...names.map((name, place) => new Option(name, place)));
    select.value = chosen;
  }

  // Of one model there is nothing to tell apart, so it needs no name.
  const alone = (system) => system.readouts.length < 2;
  const called = (system, readout) => (alone(system) ? "model" : readout.name);
  const headed = (system, readout, what) => (alone(system) ? what : `${readout.name}: ${what}`);

  // A label or an answer: the name of a class where labels are classes, else a number.
  const label = (system, value) => (system.classes.length ? system.classes[value] ?? `class ${value}` : signed(value));

  function trajectoryName(system, trajectory) {
    const cue = trajectory.cue === null ? "" : `, cue ${signed(trajectory.cue)}`;
    const target = trajectory.y === null ? "" : `: ${system.classes.length ? "class" : "y"} ${label(system, trajectory.y)}`;
    return `${trajectory.name || `${trajectory.split.toUpperCase()} ${trajectory.index}`}${target}${cue}`;
  }

  // The lists of a system; what was chosen before is kept where the new system has it too. Left is attention unless
  // told otherwise, the MLP form first, which is the stronger one; right is CREST, or the last that there is.
  function enter(system, left, right) {
    // The first whose cue is broken, where there is one: that is what the page is about.
    const first = Math.max(system.trajectories.findIndex((one) => one.split === "ood"), 0);
    fill(selects.trajectory, system.trajectories.map((one) => trajectoryName(system, one)), first);
    const names = system.readouts.map((readout) => readout.name);
    const place = (...wanted) => wanted.map((name) => names.indexOf(name)).find((found) => found >= 0);
    fill(selects.readout, names, place(left, "attention (MLP)", "attention (dot)") ?? 0);
    fill(selects.other, names, place(right, "CREST") ?? names.length - 1);
    // A list with one entry is no choice.
    for (const select of Object.values(selects)) select.closest("label").hidden = select.options.length < 2;
    for (const name of ["previous", "next"]) find(name).hidden = system.trajectories.length < 2;
    find("tabs").hidden = !system.trajectories[0].spectra;
    if (find("tabs").hidden) view = "time";
  }

  const chosen = () => {
    const system = systems[selects.system.value];
    const place = Number(selects.trajectory.value);
    const two = [...new Set([selects.readout.value, selects.other.value])].map((one) => system.readouts[one]);
    const shown = two.map((readout) => ({ readout, reading: readout.rows[place] }));
    return { system, place, trajectory: system.trajectories[place], shown };
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

  function told({ system, trajectory }, { readout, reading }) {
    if (reading === null) return [["Prediction", `not traced with ${readout.name}`]];
    const several = reading.prediction === null;
    const items = [["Prediction", several ? "several numbers" : label(system, reading.prediction)]];
    if (trajectory.y !== null && system.classes.length) {
      items[0].push(`class ${label(system, trajectory.y)}`);
      items.push(["Class", reading.prediction === trajectory.y ? "right" : "wrong"]);
    } else if (trajectory.y !== null) {
      items[0].push(`y ${signed(trajectory.y)}`);
      if (!several) items.push(["Error", signed(reading.prediction - trajectory.y), system.unit]);
    }
    if (trajectory.events !== null) {
      items.push(["Credit on event steps", percent(reading.on_events), `chance ${percent(trajectory.events.length / validSteps(trajectory))}`]);
    }
    return items;
  }

  function tell(choice) {
    facts.replaceChildren(...choice.shown.map((one) => {
      const [card, list] = [make("div"), make("dl")];
      card.style.setProperty("--of", one.readout.colour);
      list.className = "facts";
      list.append(...told(choice, one).map(([name, value, beside]) => {
        const [box, detail] = [make("div"), make("dd", value)];
        if (beside) detail.append(" ", make("small", beside));
        box.append(make("dt", name), detail);
        return box;
      }));
      card.append(...(alone(choice.system) ? [] : [make("h3", one.readout.name)]), list);
      return card;
    }));
  }

  const line = (name, y, ink, more = {}) => ({
    type: "scatter", mode: "lines", name: plain(name), x: steps(y), y, line: { color: ink, width: 1.4 },
    hovertemplate: `<b>${plain(name)}</b><br>step %{x}: %{y:.4g}<extra></extra>`, showlegend: false, ...more,
  });

  // A strip: an image of one pixel per step, the stronger its colour the more credit. All strips share a scale, so that
  // they compare. The line in it cannot be seen: it answers to the pointer.
  function heat(readout, reading, most) {
    const canvas = Object.assign(document.createElement("canvas"), { width: reading.credit.length, height: 1 });
    const pen = canvas.getContext("2d");
    reading.credit.forEach((share, step) => {
      // The root, so that credit that is spread can be seen beside credit on a few steps.
      pen.globalAlpha = Math.sqrt(Math.min(Math.max(share, 0) / most, 1));
      pen.fillStyle = readout.colour;
      pen.fillRect(step, 0, 1, 1);
    });
    return canvas.toDataURL();
  }
  const strip = (name, reading, trajectory) => ({
    ...line(name, reading.credit.map((share) => (share === null ? null : 0.5)), "rgba(0,0,0,0)"),
    customdata: timesEven(trajectory, reading),
    hovertemplate: `<b>${plain(name)}</b><br>step %{x}: credit %{customdata:.2f} × even<extra></extra>`,
  });

  // The 99th percentile of all credit: a single step with very much of it must not pale all others.
  function strongest(readings) {
    const all = readings.flatMap((reading) => reading.credit).filter((share) => share !== null).sort((one, other) => one - other);
    return all[Math.floor(0.99 * (all.length - 1))] || 1;
  }

  // Rows from the top, each with a height, what is above it, and one or two cells: a title, a unit and traces.
  function rows({ system, place, trajectory, shown }) {
    const list = system.channels.map((name, channel) => ({
      height: ROW, gap: GAP, cells: [{ title: name, traces: [line(name, trajectory.signals[channel], crest.css("--ink"))] }],
    }));
    const front = shown.map(({ readout }) => readout);
    const others = system.readouts.filter((readout) => !front.includes(readout));
    const traced = [...front, ...others].filter((readout) => readout.rows[place] !== null);
    const most = strongest(traced.map((readout) => readout.rows[place]));
    // Names beside the strips if they leave room for them, else above each.
    const above = !alone(system) && Math.max(...traced.map(({ name }) => name.length)) * LETTER > BESIDE * plot.clientWidth;
    const scale = crest.narrow.matches ? "credit of each step" : "credit of each step (stronger colour is more, root scale)";
    traced.forEach((readout, number) => list.push({
      height: STRIP, gap: number ? (above ? NAMED : TIGHT) : above ? GAP + NAMED : GAP,
      cells: [{
        title: number ? "" : scale, strip: alone(system) ? "" : readout.name, above,
        image: heat(readout, readout.rows[place], most), traces: [strip(called(system, readout), readout.rows[place], trajectory)],
      }],
    }));
    const there = shown.filter(({ reading }) => reading !== null);
    const even = trajectory.signals[0].map((value) => (value === null ? null : 1));
    const top = Math.max(1, ...there.flatMap(({ reading }) => timesEven(trajectory, reading)));
    const cells = {
      credit: ({ readout, reading }) => ({
        title: headed(system, readout, "credit"), unit: "× even share", range: [0, 1.05 * top],
        traces: [
          line("even credit (chance)", even, colours.reference, { line: { color: colours.reference, width: 1.2, dash: "dot" } }),
          line(called(system, readout), timesEven(trajectory, reading), readout.colour, { fill: "tozeroy" }),
        ],
      }),
      transience: ({ readout, reading }) => reading.transience && {
        title: headed(system, readout, "transience of the features"), unit: "transience",
        traces: [line("transience", reading.transience, colours.quiet)],
      },
      votes: ({ readout, reading }) => reading.votes && {
        title: headed(system, readout, "selected core"), unit: "share of channels", range: [0, 1.05],
        traces: [line("votes", reading.votes, colours.core, { fill: "tozeroy", line: { color: colours.core, width: 1.2, shape: "hvh" } })],
      },
    };
    for (const cell of Object.values(cells)) {
      const made = there.map((one) => cell(one) || null);
      // Side by side where there is room, below each other on a phone.
      if (!made.some(Boolean)) continue;
      if (crest.narrow.matches || made.length < 2) made.filter(Boolean).forEach((one) => list.push({ height: ROW, gap: GAP, cells: [one] }));
      else list.push({ height: ROW, gap: GAP, cells: made });
    }
    return list;
  }

  // Spectra of the signals, a row for each channel.
  function spectrumRows({ system, trajectory }) {
    const { width, channels, places } = trajectory.spectra[view];
    const end = width * Math.max(...places.map((lines) => lines[lines.length - 1]));
    return system.channels.map((name, channel) => ({
      height: 1.6 * ROW, gap: GAP, cells: [{
        title: name, unit: "amplitude", range: [0, 1.05 * Math.max(...channels[channel], 1e-12)],
        x: { range: [0, end], title: { text: `frequency (${system.per === "s" ? "Hz" : "1/" + system.per})`, standoff: 6 } },
        traces: [{
          ...line(name, channels[channel], crest.css("--ink")), x: places[channel].map((place) => place * width), timed: true,
          hovertemplate: `<b>${plain(name)}</b><br>%{x:.4g}: %{y:.4g}<extra></extra>`,
        }],
      }],
    }));
  }

  // The strongest line of each channel in words.
  function peak(choice) {
    const { width, channels, places } = choice.trajectory.spectra[view];
    const unit = choice.system.per === "s" ? "Hz" : "1/" + choice.system.per;
    return channels.map((values, channel) => {
      const most = values.indexOf(Math.max(...values));
      return `${choice.system.channels[channel]}: strongest at ${Number((places[channel][most] * width).toPrecision(3))} ${unit}, amplitude ${Number(values[most].toPrecision(3))}`;
    }).join("; ") + ".";
  }

  // Time is in units of its own where the sampling rate is known, else in steps.
  const stepWidth = (system) => (system.per ? 1 / system.rate : 1);
  function timed(trace, system) {
    if (!system.per || trace.timed) return trace;
    const hovertemplate = trace.hovertemplate && trace.hovertemplate.replace("step %{x}", () => `%{x:.5g} ${plain(system.per)}`);
    return { ...trace, hovertemplate, x: trace.x.map((step) => (step === null ? null : step * stepWidth(system))) };
  }

  function axes(layout, cell, number, domain, span, choice, labelled) {
    const width = stepWidth(choice.system);
    const suffix = number > 1 ? String(number) : "";
    layout["xaxis" + suffix] = {
      domain, anchor: "y" + suffix, zeroline: false, showticklabels: labelled, uirevision: selects.system.value,
      range: [-0.5 * width, (choice.trajectory.signals[0].length - 0.5) * width], ...(number > 1 ? { matches: "x" } : {}),
      ...(labelled ? { title: { text: stepUnit(choice.system), standoff: 6 } } : {}),
      ...(cell.x ? { ...cell.x, uirevision: view, ...(labelled ? {} : { title: { text: "" } }) } : {}),
    };
    layout["yaxis" + suffix] = {
      domain: span, anchor: "x" + suffix, zeroline: false, nticks: 4, automargin: true, fixedrange: Boolean(cell.image),
      uirevision: selects.system.value + "/" + selects.trajectory.value,
      ...(cell.unit && !crest.narrow.matches ? { title: { text: cell.unit, font: { size: 11 }, standoff: 4 } } : {}),
      ...(cell.range ? { range: cell.range } : {}),
      ...(cell.image ? { range: [0, 1], tickvals: cell.above || !cell.strip ? [] : [0.5], ticktext: [plain(cell.strip)], showgrid: false } : {}),
    };
    if (cell.image) {
      layout.images.push({
        source: cell.image, xref: "x" + suffix, yref: `y${suffix} domain`, x: -0.5 * width, y: 1, sizex: choice.trajectory.signals[0].length * width,
        sizey: 1, sizing: "stretch", layer: "above",
      });
    }
    const room = (domain[1] - domain[0]) * (plot.clientWidth - 60);
    const note = (text, yshift, more = {}) => layout.annotations.push({
      text, xref: `x${suffix} domain`, yref: `y${suffix} domain`, x: 0, y: 1, yshift, xanchor: "left", yanchor: "bottom", showarrow: false, ...more,
    });
    note(cell.title ? `<b>${plain(fitted(cell.title, BOLD * room))}</b>` : "", cell.above ? 3 + NAMED : 3);
    if (cell.above) note(plain(fitted(cell.strip, room)), 0, { font: { size: 11 } });
    for (const [first, last] of cell.x ? [] : runs(choice.trajectory.events)) {
      const shade = { type: "rect", line: { width: 0 }, fillcolor: colours.event, xref: "x" + suffix, x0: (first - 0.5) * width, x1: (last + 0.5) * width, yref: `y${suffix} domain` };
      // A strip is all colour: there the events are an edge.
      layout.shapes.push(cell.image
        ? { ...shade, layer: "above", opacity: 0.9, y0: 0, y1: 0.14 }
        : { ...shade, layer: "below", opacity: 0.28, y0: 0, y1: 1 });
    }
    return suffix;
  }

  const stepUnit = (system) => (system.per ? `time (${system.per}), ${Number(system.rate.toPrecision(4))} steps per ${system.per}` : "step");

  function figure(choice) {
    const list = view === "time" ? rows(choice) : spectrumRows(choice);
    const height = list.reduce((sum, row, number) => sum + row.height + (number ? row.gap : 0), 0);
    const small = crest.narrow.matches;
    const layout = {
      height: height + TOP + BOTTOM, margin: { l: small ? 44 : 56, r: 8, t: TOP, b: BOTTOM }, font: { size: small ? 11 : 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      legend: { orientation: "h", x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom" },
      annotations: [], shapes: [], images: [], uirevision: "legend",
    };
    const data = [];
    let [number, at] = [0, 0];
    list.forEach((row, place) => {
      if (place) at += row.gap;
      const span = [Math.max(1 - (at + row.height) / height, 0), 1 - at / height];
      at += row.height;
      row.cells.forEach((cell, column) => {
        if (cell === null) return;
        number += 1;
        const domain = row.cells.length < 2 ? [0, 1] : column ? [0.53, 1] : [0, 0.47];
        // The axis is named under the last picture of each column.
        const last = !list.slice(place + 1).some((below) => below.cells.length < 2 || below.cells[column]);
        const suffix = axes(layout, cell, number, domain, span, choice, last);
        for (const trace of cell.traces) data.push({ ...timed(trace, choice.system), xaxis: "x" + suffix, yaxis: "y" + suffix });
      });
    });
    layout.showlegend = view === "time";
    if (layout.shapes.length) data.push(key("event steps", "square", colours.event, 0.45));
    if (view === "time") data.push(key("even credit (chance)", "line-ew-open", colours.reference, 1));
    return { data, layout: crest.assign(layout, crest.themed(layout)), height };
  }

  const key = (name, symbol, color, opacity) => ({
    type: "scatter", mode: "markers", name, x: [null], y: [null], xaxis: "x", yaxis: "y", showlegend: true, hoverinfo: "skip",
    marker: { symbol, size: 12, color, opacity },
  });

  // The choice as part of the address, and back. Names and not places: they stay when a record is added.
  function address() {
    const { system, trajectory } = chosen();
    const name = (select) => select.selectedOptions[0].textContent;
    return "#explorer?" + new URLSearchParams({
      system: system.name, trajectory: `${trajectory.split}-${trajectory.index}`, left: name(selects.readout), right: name(selects.other),
    });
  }

  function follow(hash) {
    if (!hash.startsWith("#explorer?")) return false;
    const wanted = new URLSearchParams(hash.slice("#explorer?".length));
    const place = systems.findIndex((system) => system.name === wanted.get("system"));
    if (place < 0) return false;
    selects.system.value = place;
    enter(systems[place], wanted.get("left"), wanted.get("right"));
    const at = systems[place].trajectories.findIndex((one) => `${one.split}-${one.index}` === wanted.get("trajectory"));
    if (at >= 0) selects.trajectory.value = at;
    return true;
  }

  function draw() {
    const choice = chosen();
    link.setAttribute("href", address());
    find("previous").disabled = choice.place === 0;
    find("next").disabled = choice.place === choice.system.trajectories.length - 1;
    tell(choice);
    for (const tab of tabs) {
      const on = tab.dataset.view === view;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    peaks.hidden = view === "time";
    if (view !== "time") peaks.textContent = peak(choice);
    plot.setAttribute("aria-label", view === "time" ? ofTime : `${view === "spectrum" ? "Spectrum" : "Envelope spectrum"} of each channel`);
    const { data, layout, height } = figure(choice);
    return Plotly.react(plot, data, layout, crest.config)
      .then(() => crest.grown(plot, height))
      .then(() => { plot.dataset.drawn = "yes"; });
  }

  function changed() {
    // The address changes and the page stays where it is. A page without an address of its own cannot.
    try { history.replaceState(null, "", address()); } catch (refused) { /* the link has it */ }
    return draw();
  }

  function turn(tab) {
    view = tab.dataset.view;
    tab.focus();
    draw();
  }
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => turn(tab));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) turn(tabs[(place + by + tabs.length) % tabs.length]);
    });
  });

  selects.system.addEventListener("change", () => {
    const [left, right] = [selects.readout, selects.other].map((select) => select.selectedOptions[0]?.textContent);
    enter(systems[selects.system.value], left, right);
    changed();
  });
  for (const name of ["trajectory", "readout", "other"]) selects[name].addEventListener("change", changed);
  const step = (by) => { selects.trajectory.value = Number(selects.trajectory.value) + by; changed(); };
  find("previous").addEventListener("click", () => step(-1));
  find("next").addEventListener("click", () => step(1));
  const show = () => document.getElementById("explorer-heading").scrollIntoView();
  addEventListener("hashchange", () => { if (follow(location.hash)) { draw(); show(); } });
  crest.onChange(draw);
  fill(selects.system, systems.map((system) => system.name), 0);
  enter(systems[0]);
  const asked = follow(location.hash);
  draw();
  if (asked) show();
})();
